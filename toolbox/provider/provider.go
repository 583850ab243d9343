// Package provider owns what the gateway knows of other RPC providers: the forms of their
// endpoints, the chains that these name, and what of a pasted configuration is secret. It reads
// text and nothing else: it calls nobody, executes nothing and keeps nothing. What a method weighs
// is the catalog's.
package provider

import (
	"strings"

	"github.com/chainaccess/gateway/relay/chain"
)

// Provider is who serves an endpoint.
type Provider struct {
	Key  string // snake_case, stable
	Name string
}

// Endpoint is an RPC endpoint that stands in a text.
type Endpoint struct {
	// Source is its address, or the client's constructor that names its provider, with everything
	// masked that may be secret.
	Source    string
	Provider  Provider // its Key is "unknown" for a host that no form is known of
	WebSocket bool
	// Chain is the chain of the gateway that it serves; empty when there is none, or the address
	// does not tell.
	Chain chain.ID
	// Network is what the address calls its network; empty when it names none.
	Network string
	// Guessed is whether the address may be something else: nothing around it says that it is an
	// endpoint of a node.
	Guessed bool
	// KeyInURL is whether the address carries a credential, or the constructor's arguments do.
	KeyInURL bool
	// Keyless is whether the credential is a placeholder, such as ${ALCHEMY_KEY}, so that no secret
	// stood there.
	Keyless bool
	// Lines are where it stands, counted from 1, at most maxLines of them.
	Lines []int

	credentials int // how many secrets stood in it
}

// Reading is what was found in a text.
type Reading struct {
	Endpoints []Endpoint
	// Methods are the JSON-RPC methods that are named, each once, in the order of the text.
	Methods []string
	// OtherMethods counts the names of methods that nobody here knows. They are not told: any word
	// may stand there.
	OtherMethods int
	// Formats and Clients are what the text looks like: env, json, yaml, toml; viem, ethers,
	// web3.py, hardhat, foundry, …
	Formats []string
	Clients []string
	// Secrets counts what must not be in a text that is handed around.
	Secrets Secrets
	// Truncated is whether there was more than a list holds.
	Truncated bool
}

// Secrets counts secrets by kind.
type Secrets struct {
	PrivateKeys int
	Mnemonics   int
	Credentials int // keys of providers, tokens, passwords
}

// The bounds of a reading.
const (
	MaxText      = 20_000 // characters
	maxEndpoints = 50
	maxAddresses = 250 // that are looked at
	maxMethods   = 200
	maxLines     = 10
)

// Read finds endpoints, methods and secrets in a text. Its work is linear in the text.
func Read(text string) Reading {
	text = unescape(text)
	lower := asciiLower(text)
	spans, found := findURLs(text), findClients(text)
	r := Reading{Formats: formats(text), Clients: clients(text, lower)}
	r.endpoints(text, spans, found)
	r.methods(text, lower)
	r.secrets(text, spans, found)
	return r
}

// endpoints reads the addresses, each once, and what clients name by themselves.
func (r *Reading) endpoints(text string, spans []span, named []mention) {
	at := map[string]int{} // -1 for what is none
	lines := lineCounter{text: text, line: 1}
	key, after := silent, 0
	for i, s := range spans {
		for len(named) > 0 && named[0].from < s.from {
			r.add(at, named[0].Source, named[0].Endpoint, lines.of(named[0].from))
			named = named[1:]
		}
		raw := text[s.from:s.to]
		key = keyOf(text, after, s.from, key)
		after = s.to
		known, again := at[raw]
		switch {
		case again && known < 0 && key == silent:
		case again && known >= 0:
			r.again(known, lines.of(s.from))
		case i >= maxAddresses:
			r.Truncated = true
		default:
			if e, ok := readEndpoint(raw, key); ok {
				r.add(at, raw, e, lines.of(s.from))
			} else {
				at[raw] = -1
			}
		}
	}
	for _, m := range named {
		r.add(at, m.Source, m.Endpoint, lines.of(m.from))
	}
}

// add enters an endpoint unless it stands there.
func (r *Reading) add(at map[string]int, raw string, e Endpoint, line int) { //nolint:gocritic // once for each
	if i, again := at[raw]; again && i >= 0 {
		r.again(i, line)
		r.Endpoints[i].credentials += e.credentials
		return
	}
	if len(r.Endpoints) == maxEndpoints {
		r.Truncated = true
		return
	}
	e.Lines = []int{line}
	at[raw] = len(r.Endpoints)
	r.Endpoints = append(r.Endpoints, e)
}

func (r *Reading) again(i, line int) {
	if known := &r.Endpoints[i]; len(known.Lines) < maxLines {
		known.Lines = append(known.Lines, line)
	}
}

// lineCounter gives the lines of places that are asked for in the order of the text.
type lineCounter struct {
	text       string
	line, seen int
}

func (c *lineCounter) of(at int) int {
	if at > c.seen {
		c.line += strings.Count(c.text[c.seen:at], "\n")
		c.seen = at
	}
	return c.line
}

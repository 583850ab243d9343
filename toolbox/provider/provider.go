// Package provider recognizes other RPC providers in a pasted configuration: the forms of their
// endpoints, their chains, and secrets. It only reads text: it calls nobody, executes nothing and
// stores nothing. The weights of methods are the catalog's.
package provider

import (
	"strings"

	"github.com/chainaccess/gateway/relay/chain"
)

// Provider is the provider of an endpoint.
type Provider struct {
	Key  string // snake_case, stable
	Name string
}

// Endpoint is an RPC endpoint in a text.
type Endpoint struct {
	// Source is its address, or the client's constructor that names its provider, with everything
	// masked that may be secret.
	Source    string
	Provider  Provider // its Key is "unknown" for an unknown host
	WebSocket bool
	// Chain is the gateway's chain that it serves; empty if there is none, or the address does not
	// name it.
	Chain chain.ID
	// Network is the name of the network in the address; empty if there is none.
	Network string
	// Guessed reports whether the address may be something else: nothing around it suggests an
	// endpoint.
	Guessed bool
	// KeyInURL reports whether the address or the constructor's arguments contain a credential.
	KeyInURL bool
	// Keyless reports whether the credential is a placeholder, such as ${ALCHEMY_KEY}, and no
	// secret.
	Keyless bool
	// Lines are where it is, counted from 1, at most maxLines of them.
	Lines []int

	credentials int // number of secrets in it
}

// Reading is the result of Read.
type Reading struct {
	Endpoints []Endpoint
	// Methods are the JSON-RPC methods in the text, without duplicates, in its order.
	Methods []string
	// OtherMethods counts unknown names of methods. They are not reported, because they may be any
	// word.
	OtherMethods int
	// Formats and Clients are the guessed kinds of the text: env, json, yaml, toml; viem, ethers,
	// web3.py, hardhat, foundry, …
	Formats []string
	Clients []string
	// Secrets counts what must not be in a text that is shared.
	Secrets Secrets
	// Truncated reports whether a list exceeded its limit.
	Truncated bool
}

// Secrets counts secrets by kind.
type Secrets struct {
	PrivateKeys int
	Mnemonics   int
	Credentials int // keys of providers, tokens, passwords
}

// Limits of a reading.
const (
	MaxText      = 20_000 // characters
	maxEndpoints = 50
	maxAddresses = 250 // addresses that are read
	maxMethods   = 200
	maxLines     = 10
)

// Read finds endpoints, methods and secrets in a text, in time linear in its length.
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

// endpoints reads the addresses, without duplicates, and the clients' constructors.
func (r *Reading) endpoints(text string, spans []span, named []mention) {
	at := map[string]int{} // -1 for what is no endpoint
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

// add adds an endpoint, or a line of one that is known.
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

// lineCounter returns the lines of positions, which must be asked for in ascending order.
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

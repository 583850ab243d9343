// Package provider owns what the gateway knows of other RPC providers: the forms of their endpoints, the chains that these name, and what of a pasted
// configuration is secret. It reads text and nothing else: it calls nobody, executes nothing and keeps nothing. What a method weighs is the catalog's.
package provider

import "github.com/chainaccess/gateway/chain"

// Provider is who serves an endpoint.
type Provider struct {
	Key  string // snake_case, stable
	Name string
}

// Endpoint is an RPC endpoint that stands in a text.
type Endpoint struct {
	// Source is its address with everything masked that may be secret.
	Source    string
	Provider  Provider // its Key is "unknown" for a host that no form is known of
	WebSocket bool
	// Chain is the chain of the gateway that it serves; empty when there is none, or the address does not tell.
	Chain chain.ID
	// Network is what the address calls its network; empty when it names none.
	Network string
	// KeyInURL is whether the address carries a credential.
	KeyInURL bool
	// Keyless is whether the credential is a placeholder, such as ${ALCHEMY_KEY}, so that no secret stood there.
	Keyless bool
	// Lines are where it stands, counted from 1, at most mostLines of them.
	Lines []int
}

// Reading is what was found in a text.
type Reading struct {
	Endpoints []Endpoint
	// Methods are the JSON-RPC methods that are named, each once, in the order of the text.
	Methods []string
	// Formats and Clients are what the text looks like: env, json, yaml, toml; viem, ethers, web3.py, hardhat, foundry, …
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
	MaxText       = 20_000 // characters
	mostEndpoints = 50
	mostMethods   = 200
	mostLines     = 10
)

// Read finds endpoints, methods and secrets in a text. Its work is linear in the text.
func Read(text string) Reading {
	spans := findURLs(text)
	r := Reading{Formats: formats(text), Clients: clients(text)}
	r.endpoints(text, spans)
	r.methods(text)
	r.secrets(text, spans)
	return r
}

// endpoints reads the addresses, each once.
func (r *Reading) endpoints(text string, spans []span) {
	at := map[string]int{}
	line, seen := 1, 0
	for _, s := range spans {
		for ; seen < s.from; seen++ {
			if text[seen] == '\n' {
				line++
			}
		}
		raw := text[s.from:s.to]
		e, ok := readEndpoint(raw)
		if !ok {
			continue
		}
		if i, again := at[raw]; again {
			if known := &r.Endpoints[i]; len(known.Lines) < mostLines {
				known.Lines = append(known.Lines, line)
			}
			continue
		}
		if len(r.Endpoints) == mostEndpoints {
			r.Truncated = true
			continue
		}
		e.Lines = []int{line}
		at[raw] = len(r.Endpoints)
		r.Endpoints = append(r.Endpoints, e)
	}
}

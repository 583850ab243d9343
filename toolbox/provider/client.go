package provider

import (
	"slices"
	"strings"

	"github.com/chainaccess/gateway/relay/chain"
)

// sign is the words by which a client is recognized.
type sign struct {
	name  string
	words []string
}

// clientSigns are the signs of libraries and tools.
var clientSigns = []sign{
	{"viem", []string{"'viem'", `"viem"`, "'viem/", `"viem/`, "createPublicClient", "createWalletClient"}},
	{"wagmi", []string{"'wagmi'", `"wagmi"`, "'wagmi/", `"wagmi/`, "'@wagmi/core", `"@wagmi/core`}},
	{"ethers", []string{
		"'ethers'", `"ethers"`, "JsonRpcProvider", "WebSocketProvider", "InfuraProvider", "AlchemyProvider",
		"AnkrProvider", "QuickNodeProvider", "ChainstackProvider", "PocketProvider", "getDefaultProvider",
	}},
	{"web3.js", []string{"new Web3(", "'web3'", `"web3"`}},
	{"web3.py", []string{"from web3 import", "HTTPProvider("}},
	{"foundry", []string{
		"[rpc_endpoints]", "[profile.", "foundry.toml", "forge script", "forge test", "forge create",
		"cast call", "cast send", "cast block",
	}},
	{"solana-web3.js", []string{"@solana/web3.js", "new Connection(", "clusterApiUrl"}},
	{"solana-kit", []string{"@solana/kit", "createSolanaRpc"}},
	{"alchemy-sdk", []string{"alchemy-sdk", "new Alchemy("}},
}

// clients returns the libraries and tools that a text uses.
func clients(text, lower string) []string {
	names := []string{}
	for _, s := range clientSigns {
		if s.name == "foundry" && strings.Contains(lower, "hardhat") {
			names = append(names, "hardhat")
		}
		if slices.ContainsFunc(s.words, func(w string) bool { return strings.Contains(text, w) }) {
			names = append(names, s.name)
		}
	}
	return names
}

// constructor is a client's function that selects a provider without an address.
type constructor struct {
	name string // before the parenthesis; its first letter may be lower case
	Provider
	alone chain.ID // the chain if the arguments name no network
}

// constructors are those of ethers, wagmi, the Alchemy SDK and solana-web3.js.
var constructors = []constructor{
	{"AlchemyProvider", Provider{"alchemy", "Alchemy"}, ""},
	{"AlchemyWebSocketProvider", Provider{"alchemy", "Alchemy"}, ""},
	{"InfuraProvider", Provider{"infura", "Infura"}, ""},
	{"InfuraWebSocketProvider", Provider{"infura", "Infura"}, ""},
	{"AnkrProvider", Provider{"ankr", "Ankr"}, ""},
	{"QuickNodeProvider", Provider{"quicknode", "QuickNode"}, ""},
	{"PocketProvider", Provider{"pocket", "Pocket"}, ""},
	{"ChainstackProvider", Provider{"chainstack", "Chainstack"}, ""},
	{"BlockscoutProvider", Provider{"blockscout", "Blockscout"}, ""},
	{"EtherscanProvider", Provider{"etherscan", "Etherscan"}, ""},
	{"CloudflareProvider", Provider{"cloudflare", "Cloudflare"}, chain.EthMainnet},
	{"getDefaultProvider", Provider{"ethers_default", "the providers that ethers chooses"}, ""},
	{"new Alchemy", Provider{"alchemy", "Alchemy"}, ""},
	{"clusterApiUrl", Provider{"solana", "Solana"}, ""},
}

// mention is a constructor with its arguments.
type mention struct {
	Endpoint
	span
}

const (
	maxArguments = 400 // bytes that are read
	maxMentions  = 100
	leastKey     = 8 // minimum length of a quoted argument that counts as a key
)

// findClients finds constructors from left to right.
func findClients(text string) []mention {
	var found []mention
	for i := range constructors {
		c := &constructors[i]
		for at := 0; len(found) < maxMentions; {
			j := strings.Index(text[at:], c.name[1:])
			if j < 0 {
				break
			}
			j += at - 1
			at = j + len(c.name)
			if j < 0 || text[j]|0x20 != c.name[0]|0x20 || j > 0 && isWord(text[j-1]) {
				continue
			}
			open := at
			for open < len(text) && text[open] == ' ' {
				open++
			}
			if open >= len(text) || text[open] != '(' {
				continue
			}
			to := closing(text, open)
			found = append(found, mention{c.read(text[open+1:to], text), span{j, to}})
		}
	}
	slices.SortFunc(found, func(a, b mention) int { return a.from - b.from }) //nolint:gocritic // by value
	return found
}

// closing returns where the parenthesis at open closes, at most maxArguments later.
func closing(text string, open int) int {
	depth := 0
	end := min(len(text), open+maxArguments)
	for i := open; i < end; i++ {
		switch text[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return end
}

// read parses the arguments: names of networks, and quoted words that may be keys.
func (c *constructor) read(args, text string) Endpoint {
	e := Endpoint{Provider: c.Provider, Keyless: true, WebSocket: strings.Contains(c.name, "WebSocket")}
	e.Chain, e.Network = networkIn(args)
	if e.Network == "" && c.name == "new Alchemy" && !strings.Contains(args, "{") { // its settings are elsewhere
		if i := strings.Index(text, "Network."); i >= 0 {
			e.Chain, e.Network = networkIn(text[i:min(len(text), i+60)])
		}
	}
	if e.Network == "" {
		e.Chain = c.byDefault(args)
	}
	e.noteKeys(args)
	e.Source = c.name + "("
	if e.Network != "" {
		e.Network = may(e.Network)
		e.Source += e.Network
	}
	if e.KeyInURL {
		e.Source += ", " + masked
	}
	e.Source += ")"
	e.Keyless = e.KeyInURL && e.Keyless
	return e
}

// byDefault returns the chain of a constructor whose arguments name none; empty if a variable may
// name it.
func (c *constructor) byDefault(args string) chain.ID {
	first, _, _ := strings.Cut(args, ",")
	switch first = strings.TrimSpace(first); {
	case c.alone != "":
		return c.alone
	case c.name == "clusterApiUrl": // devnet
		return ""
	case first == "" || first == "null" || first == "undefined",
		c.name == "new Alchemy" && strings.Contains(args, "{") && !strings.Contains(args, "network"):
		return chain.EthMainnet
	}
	return ""
}

// networkIn returns the first name of a network; a number counts only as the first argument.
func networkIn(args string) (id chain.ID, name string) {
	for i := 0; i < len(args); {
		n := 0
		for i+n < len(args) && (isWord(args[i+n]) || args[i+n] == '-') {
			n++
		}
		word := args[i : i+n]
		if found, known := named(word); known && isNetwork(strings.ToLower(word)) &&
			(!digits(word) || strings.Trim(args[:i], " \n\t") == "") {
			return found, strings.ToLower(word)
		}
		i += n + 1
	}
	return "", ""
}

// noteKeys counts quoted words that may be keys, and recognizes variables with names of keys.
func (e *Endpoint) noteKeys(args string) {
	for i := 0; i < len(args); i++ {
		if strings.IndexByte("\"'`", args[i]) < 0 {
			continue
		}
		end := strings.IndexByte(args[i+1:], args[i])
		if end < 0 {
			return
		}
		word := args[i+1 : i+1+end]
		i += end + 1
		_, network := named(word)
		switch {
		case network && isNetwork(strings.ToLower(word)), strings.Contains(word, "://"), word == "":
		case isPlaceholder(word):
			e.KeyInURL = true
		case len(word) >= leastKey:
			e.KeyInURL, e.Keyless = true, false
			e.credentials++
		}
	}
}

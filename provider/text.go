package provider

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/chainaccess/gateway/chain"
)

// sign is what a format is known by.
type sign struct {
	name string
	at   *regexp.Regexp
}

// clientWords are those by which libraries and tools are known.
var clientWords = []struct {
	name  string
	words []string
}{
	{"viem", []string{`'viem'`, `"viem"`, `'viem/`, `"viem/`, "createPublicClient", "createWalletClient"}},
	{"wagmi", []string{`'wagmi`, `"wagmi`, `'@wagmi/`, `"@wagmi/`}},
	{"ethers", []string{
		`'ethers'`, `"ethers"`, "JsonRpcProvider", "WebSocketProvider", "InfuraProvider", "AlchemyProvider", "AnkrProvider", "QuickNodeProvider", "ChainstackProvider",
	}},
	{"web3.js", []string{"new Web3(", `'web3'`, `"web3"`}},
	{"web3.py", []string{"from web3 import", "HTTPProvider("}},
	{"hardhat", []string{"hardhat", "Hardhat"}},
	{"foundry", []string{"[rpc_endpoints]", "[profile.", "foundry.toml", "forge script", "forge test", "forge create", "cast call", "cast send", "cast block"}},
	{"solana-web3.js", []string{"@solana/web3.js", "new Connection(", "clusterApiUrl"}},
	{"solana-kit", []string{"@solana/kit", "createSolanaRpc"}},
	{"alchemy-sdk", []string{"alchemy-sdk", "new Alchemy("}},
}

var formatSigns = []sign{
	{"env", regexp.MustCompile(`(?m)^\s*(?:export\s+)?[A-Z][A-Z0-9_]*\s*=\s*\S`)},
	{"toml", regexp.MustCompile(`(?m)^\s*\[\[?[A-Za-z0-9_.-]+\]\]?\s*$`)},
	{"javascript", regexp.MustCompile(`(?m)^\s*(?:import\b.*['"]|export (?:default|const)\b|(?:const|let|var)\s+[\w{]|module\.exports)`)},
	{"python", regexp.MustCompile(`(?m)^\s*(?:from \w[\w.]* import |import \w+\s*$|\w+ = Web3\()`)},
}

var yamlLine = regexp.MustCompile(`(?m)^\s*(?:- )?[A-Za-z0-9_.-]+:(?:\s|$)`)

func clients(text string) []string {
	names := []string{}
	for _, c := range clientWords {
		if slices.ContainsFunc(c.words, func(word string) bool { return strings.Contains(text, word) }) {
			names = append(names, c.name)
		}
	}
	return names
}

func matching(signs []sign, text string) []string {
	names := []string{}
	for _, s := range signs {
		if s.at.MatchString(text) {
			names = append(names, s.name)
		}
	}
	return names
}

// formats is what the text looks like. JSON is held to be so when it parses.
func formats(text string) []string {
	if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "{") && json.Valid([]byte(trimmed)) || strings.HasPrefix(trimmed, "[") && json.Valid([]byte(trimmed)) {
		return []string{"json"}
	}
	names := matching(formatSigns, text)
	code := slices.Contains(names, "javascript") || slices.Contains(names, "python")
	if !code && yamlLine.MatchString(text) {
		names = append(names, "yaml")
	}
	return names
}

var (
	// evmName is a method with its namespace. What follows the namespace begins with a small letter and holds letters, so that it is neither a variable nor a key.
	evmName = regexp.MustCompile(`\b(?:eth|net|web3|debug|trace|arbtrace|bor|txpool|personal|admin|miner|clique|engine|wallet|alchemy|qn|erigon|ots|parity|flashbots|mev)_[a-z][A-Za-z]{1,40}(?:V[0-9])?\b`)
	// quoted is a word in quotes.
	quoted = regexp.MustCompile(`["']([a-z][A-Za-z]{3,40})["']`)
	// solanaText tells that names without a namespace may be Solana's.
	solanaText = regexp.MustCompile(`(?i)solana|helius`)
)

// methods finds the names of methods, each once.
func (r *Reading) methods(text string) {
	seen := map[string]bool{}
	add := func(name string) {
		switch {
		case seen[name]:
		case len(r.Methods) == mostMethods:
			r.Truncated = true
		default:
			seen[name] = true
			r.Methods = append(r.Methods, name)
		}
	}
	for _, at := range evmName.FindAllStringIndex(text, -1) {
		name := text[at[0]:at[1]]
		inQuotes := at[0] > 0 && at[1] < len(text) && strings.IndexByte(`"'`, text[at[0]-1]) >= 0 && text[at[1]] == text[at[0]-1]
		if Serves(chain.EVM, name) || inQuotes && !isNetwork(name) {
			add(name)
		}
	}
	if !solanaText.MatchString(text) {
		return
	}
	for _, at := range quoted.FindAllStringSubmatchIndex(text, -1) {
		if name := text[at[2]:at[3]]; Serves(chain.Solana, name) || strings.HasPrefix(name, "getProgramAcc") || strings.HasSuffix(name, "Subscribe") {
			add(name)
		}
	}
}

// Serves is whether any chain of a family has the method in its catalog.
func Serves(family chain.Family, name string) bool {
	return slices.ContainsFunc(chain.All(), func(c *chain.Chain) bool {
		_, ok := c.Method([]byte(name))
		return ok && c.Family == family
	})
}

var (
	hex64     = regexp.MustCompile(`(?i)\b(?:0x)?[0-9a-f]{64}\b`)
	keyWords  = regexp.MustCompile(`(?i)priv|secret|account|deployer|signer|wallet|_pk\b|\bpk\b|mnemonic|owner|\bkey`)
	solanaKey = regexp.MustCompile(`\b[1-9A-HJ-NP-Za-km-z]{86,88}\b`)
	byteArray = regexp.MustCompile(`\[\s*(?:[0-9]{1,3}\s*,\s*){63}[0-9]{1,3}\s*\]`)
	phrase    = regexp.MustCompile(`\b(?:[a-z]{3,8}[ \t]+){11,23}[a-z]{3,8}\b`)
	// phraseWords tell a mnemonic from prose: what it is called, or that it is a value.
	phraseWords = regexp.MustCompile(`(?i)mnemonic|seed|phrase|recovery|words|["'=` + "`" + `]\s*[a-z]{3,8} [a-z]{3,8} [a-z]{3,8} `)
	assigned    = regexp.MustCompile(`(?i)(?:api[-_]?key|apikey|secret|token|password|passwd|bearer|authorization|dkey|project[-_]?id|access[-_]?key)["']?\s*[:=]?\s*["']?(?:bearer\s+|basic\s+)?([A-Za-z0-9_\-.+/=]{16,})`)
	pem         = regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----`)
)

// shortestSecret is the length of a line of twelve words of three letters, which is less than that of a key.
const shortestSecret = 12*4 - 1

// secrets counts what should not be in the text.
func (r *Reading) secrets(text string, spans []span) {
	for _, e := range r.Endpoints {
		if e.KeyInURL && !e.Keyless {
			r.Secrets.Credentials++
		}
	}
	rest := without(text, spans) // what stands in an address is counted there
	for line := range strings.SplitSeq(rest, "\n") {
		if len(line) < shortestSecret {
			continue
		}
		if found := hex64.FindAllStringIndex(line, -1); found != nil && keyWords.MatchString(line) {
			r.Secrets.PrivateKeys += len(found)
		}
		r.Secrets.PrivateKeys += len(solanaKey.FindAllStringIndex(line, -1))
		if phraseWords.MatchString(line) {
			r.Secrets.Mnemonics += len(phrase.FindAllStringIndex(line, -1))
		}
	}
	r.Secrets.PrivateKeys += len(byteArray.FindAllStringIndex(rest, -1)) + len(pem.FindAllStringIndex(rest, -1))
	for _, at := range assigned.FindAllStringSubmatch(rest, -1) {
		if keyLike(at[1]) && !hex64.MatchString(at[1]) {
			r.Secrets.Credentials++
		}
	}
}

// without gives a text with the spans blanked.
func without(text string, spans []span) string {
	var b strings.Builder
	from := 0
	for _, s := range spans {
		b.WriteString(text[from:s.from])
		b.WriteByte(' ')
		from = s.to
	}
	b.WriteString(text[from:])
	return b.String()
}

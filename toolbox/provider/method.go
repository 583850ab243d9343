package provider

import (
	"slices"
	"strings"

	"github.com/chainaccess/gateway/relay/chain"
)

// namespaces are the prefixes of EVM methods, before the underscore.
var namespaces = words(
	`eth net web3 debug trace arbtrace bor txpool personal admin miner clique engine wallet alchemy qn erigon ots ` +
		`parity flashbots mev hardhat anvil evm testing`)

// libraries are names of libraries and settings that look like methods.
var libraries = words(
	`eth_account eth_abi eth_utils eth_keys eth_typing eth_tester eth_hash eth_rlp evm_version testing_mode`)

const maxName = 64

// methods finds the names of methods, without duplicates. It reports those of the catalog and of
// the refusals; any other may be a secret, and is only counted.
func (r *Reading) methods(text, lower string) {
	seen := map[string]bool{}
	r.ofEVM(text, seen)
	if strings.Contains(lower, "solana") || strings.Contains(lower, "helius") {
		r.ofSolana(text, seen)
	}
	r.called(text, seen)
}

// addMethod adds a method under a name that may be shown: its own, or that of the rule that refuses
// it.
func (r *Reading) addMethod(seen map[string]bool, family chain.Family, name string) (known bool) {
	shown := name
	if !Serves(family, name) {
		if shown, known = chain.Refused(family, name); !known {
			return false
		}
	}
	switch {
	case seen[name]:
	case slices.Contains(r.Methods, shown):
	case len(r.Methods) == maxMethods:
		r.Truncated = true
	default:
		r.Methods = append(r.Methods, shown)
	}
	seen[name] = true
	return true
}

func (r *Reading) unknown(seen map[string]bool, name string) {
	if !seen[name] {
		seen[name] = true
		r.OtherMethods++
	}
}

// ofEVM finds names with a namespace.
func (r *Reading) ofEVM(text string, seen map[string]bool) {
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '_')
		if i < 0 {
			return
		}
		i += at
		from := i
		for from > 0 && i-from <= len("flashbots") && isWord(text[from-1]) && text[from-1] != '_' {
			from--
		}
		to := i + 1 + wordLen(text[i+1:min(len(text), i+1+maxName)])
		at = i + 1
		if namespaces[text[from:i]] && to-i >= 3 && text[i+1]|0x20 == text[i+1] && standsAlone(text, from, to) {
			r.named(text, from, to, seen)
		}
	}
}

// standsAlone reports whether text[from:to] is a whole word.
func standsAlone(text string, from, to int) bool {
	return (from == 0 || !isWord(text[from-1])) && (to == len(text) || !isWord(text[to]))
}

// named adds a name with a namespace: any of the catalog, a refusal that can be nothing else, and a
// quoted name that may be a method.
func (r *Reading) named(text string, from, to int, seen map[string]bool) {
	name := text[from:to]
	_, rest, _ := strings.Cut(name, "_")
	quoted := inQuotes(text, from, to)
	switch {
	case Serves(chain.EVM, name):
		r.addMethod(seen, chain.EVM, name)
	case isRefused(chain.EVM, name) && (quoted || !isVariable(text, from, to)):
		r.addMethod(seen, chain.EVM, name)
	case !quoted || isNetwork(name) || strings.Contains(rest, "_") || libraries[name]:
	case !r.addMethod(seen, chain.EVM, name):
		r.unknown(seen, name)
	}
}

// ofSolana finds names without a namespace: in quotes, called on a connection, or as an item of a
// list next to other methods.
func (r *Reading) ofSolana(text string, seen map[string]bool) {
	known := -1 // end of the last word that is a method, wherever it is
	for i := 0; i < len(text); i++ {
		n := wordLen(text[i:min(len(text), i+1+maxName)])
		from, to := i, i+n
		if n == 0 {
			continue
		}
		i = to
		if n <= 3 || n > maxName || !standsAlone(text, from, to) {
			continue
		}
		name := text[from:to]
		is := isKnown(chain.Solana, name)
		if inQuotes(text, from, to) ||
			is && (isCalled(text, from, to) || isItem(text, from, to) || known >= 0 && isNextTo(text, known, from)) {
			r.addMethod(seen, chain.Solana, name)
			known = to
		}
	}
}

// called finds values of "method", whatever their names. An unquoted value may be a variable: then
// only known methods count, and in YAML, which has no variables, words that look like methods.
func (r *Reading) called(text string, seen map[string]bool) {
	yaml := slices.Contains(r.Formats, "yaml")
	for at := 0; ; {
		i := strings.Index(text[at:], "method")
		if i < 0 {
			return
		}
		at += i + len("method")
		rest := strings.TrimLeft(text[at:min(len(text), at+8)], "\"' \t:=")
		from := min(len(text), at+8) - len(rest)
		between := text[at:from]
		if !strings.ContainsAny(between, ":=") {
			continue
		}
		quoted := strings.IndexByte(`"'`, between[len(between)-1]) >= 0
		name := text[from : from+wordLen(text[from:min(len(text), from+maxName)])]
		if len(name) < 3 || strings.ToUpper(name) == name { // an HTTP method
			continue
		}
		told := quoted || isKnown(chain.EVM, name) || isKnown(chain.Solana, name)
		switch {
		case seen[name]:
		case !told && (!yaml || !isCamel(name) || !endsLine(text, from+len(name))):
		case !told, !r.addMethod(seen, chain.EVM, name) && !r.addMethod(seen, chain.Solana, name):
			r.unknown(seen, name)
		}
	}
}

// servedBy has the names in the catalogs of the built-in chains by family.
var servedBy = func() map[chain.Family]map[string]bool {
	names := map[chain.Family]map[string]bool{}
	for _, c := range chain.BuiltIn().All() {
		if names[c.Family] == nil {
			names[c.Family] = map[string]bool{}
		}
		for _, m := range c.Methods() {
			names[c.Family][m.Name] = true
		}
	}
	return names
}()

// Serves reports whether any chain of a family has the method in its catalog.
func Serves(family chain.Family, name string) bool { return servedBy[family][name] }

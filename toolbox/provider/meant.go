package provider

import (
	"strings"

	"github.com/chainaccess/gateway/relay/chain"
)

// Whether a word that is the name of a method is meant as one, by itself and by what stands around
// it.

// plainNames are methods of refused families that look like names of variables.
var plainNames = words(
	`personal_sign txpool_content txpool_inspect txpool_status admin_peers admin_datadir miner_start miner_stop clique_propose clique_discard clique_status evm_mine evm_revert evm_snapshot hardhat_mine hardhat_reset hardhat_metadata anvil_mine anvil_reset`)

// ofNodes are refused families of which no configuration names its own keys, as alchemy_apiKey is
// one of another.
var ofNodes = words(`personal admin miner clique txpool hardhat anvil evm`)

// subscriptions are what Solana's methods for subscribing begin with; of other words that end so
// any program has some.
var subscriptions = words(`account block logs program root signature slot slotsUpdates vote`)

// isKnown reports whether a name is a method wherever it stands.
func isKnown(family chain.Family, name string) bool {
	return Serves(family, name) || isRefused(family, name)
}

// isRefused reports whether a name is a refused method, and can be nothing else: of a refused
// family also alchemy_key and wallet_address would be one.
func isRefused(family chain.Family, name string) bool {
	rule, ok := chain.Refused(family, name)
	if !ok {
		return false
	}
	if begin, ok := strings.CutSuffix(rule, "*"); ok {
		return name == begin || plainNames[name] || isCamel(name)
	}
	if end, ok := strings.CutPrefix(rule, "*"); ok {
		return subscriptions[strings.TrimSuffix(name, end)]
	}
	return true
}

// isCamel reports whether a name is written as methods are: in camel case after the namespace, and
// with a version at most, as eth_signTypedData_v4 has one.
func isCamel(name string) bool {
	if space, rest, ok := strings.Cut(name, "_"); ok && namespaces[space] {
		name = rest
	}
	if n := len(name); n > 3 && name[n-3:n-1] == "_v" && isDigit(name[n-1]) {
		name = name[:n-3]
	}
	return name != "" && 'a' <= name[0] && name[0] <= 'z' && strings.ToLower(name) != name &&
		!strings.Contains(name, "_")
}

// isVariable reports whether text[from:to] is the name of a variable or of a key of a
// configuration: it is given a value, or taken from something.
func isVariable(text string, from, to int) bool {
	name := text[from:to]
	rule, _ := chain.Refused(chain.EVM, name)
	after := text[to+spaces(text[to:]):]
	key := strings.HasPrefix(after, ":")
	switch {
	case rule == name && isCamel(name):
		return false // it can be nothing else
	case key && (strings.TrimSuffix(rule, "*") == name || plainNames[name] ||
		isCamel(name) && ofNodes[name[:max(0, strings.IndexByte(name, '_'))]]):
		return false // what is set for a method, as its limit
	}
	return key || strings.HasPrefix(after, "=") && !strings.HasPrefix(after, "==") ||
		from > 0 && strings.IndexByte("$.{", text[from-1]) >= 0
}

// inQuotes reports whether text[from:to] stands in quotes, and nothing else does.
func inQuotes(text string, from, to int) bool {
	return from > 0 && to < len(text) && strings.IndexByte("\"'`", text[from-1]) >= 0 && text[to] == text[from-1]
}

// isCalled reports whether text[from:to] is called on something, as in connection.getSlot().
func isCalled(text string, from, to int) bool {
	after := to + spaces(text[to:])
	return from > 0 && text[from-1] == '.' && after < len(text) && strings.IndexByte("(<", text[after]) >= 0
}

// isItem reports whether text[from:to] is an item of a list: at the line's begin or behind what
// begins an item, and before what ends one or another method.
func isItem(text string, from, to int) bool {
	before := strings.TrimRight(text[max(0, from-maxSpaces):from], " \t")
	if before != "" && strings.IndexByte(":,;[-=*\r\n", before[len(before)-1]) < 0 ||
		before == "" && from >= maxSpaces {
		return false
	}
	after := to + spaces(text[to:])
	if endsLine(text, to) || strings.IndexByte(",;]:", text[after]) >= 0 {
		return true
	}
	return after > to && isKnown(chain.Solana, text[after:after+wordLen(text[after:min(len(text), after+maxName)])])
}

// isNextTo reports whether nothing but spaces stands between two places.
func isNextTo(text string, end, begin int) bool {
	return begin > end && begin-end <= maxSpaces && strings.Trim(text[end:begin], " \t") == ""
}

// endsLine reports whether nothing but spaces follows on the line, or a comment.
func endsLine(text string, at int) bool {
	at += spaces(text[at:])
	return at == len(text) || strings.IndexByte("\r\n#", text[at]) >= 0
}

// maxSpaces bounds how far is looked for what stands beside a word.
const maxSpaces = 8

// spaces is how many spaces s begins with, at most maxSpaces.
func spaces(s string) int {
	n := 0
	for n < min(len(s), maxSpaces) && (s[n] == ' ' || s[n] == '\t') {
		n++
	}
	return n
}

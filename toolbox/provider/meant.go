package provider

import (
	"strings"

	"github.com/chainaccess/gateway/relay/chain"
)

// Heuristics for whether a word that is the name of a method is used as one, from the word itself
// and its surroundings.

// plainNames are methods of refused namespaces that look like names of variables.
var plainNames = words(
	`personal_sign txpool_content txpool_inspect txpool_status admin_peers admin_datadir miner_start miner_stop ` +
		`clique_propose clique_discard clique_status evm_mine evm_revert evm_snapshot hardhat_mine hardhat_reset ` +
		`hardhat_metadata anvil_mine anvil_reset`)

// ofNodes are refused namespaces that configurations do not use for keys of their own, unlike
// alchemy_apiKey.
var ofNodes = words(`personal admin miner clique txpool hardhat anvil evm`)

// subscriptions are the prefixes of Solana's subscription methods. Other words with the same
// endings occur in any program.
var subscriptions = words(`account block logs program root signature slot slotsUpdates vote`)

// isKnown reports whether a name is a method wherever it occurs.
func isKnown(family chain.Family, name string) bool {
	return Serves(family, name) || isRefused(family, name)
}

// isRefused reports whether a name is a refused method and can be nothing else: alchemy_key and
// wallet_address would also match a refused namespace.
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

// isCamel reports whether a name is written like a method: camel case after the namespace, with at
// most a version, as in eth_signTypedData_v4.
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

// isVariable reports whether text[from:to] is the name of a variable or a configuration key: it is
// assigned a value, or read from something.
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
		return false // a setting of a method, for example its limit
	}
	return key || strings.HasPrefix(after, "=") && !strings.HasPrefix(after, "==") ||
		from > 0 && strings.IndexByte("$.{", text[from-1]) >= 0
}

// inQuotes reports whether text[from:to] is in quotes, alone.
func inQuotes(text string, from, to int) bool {
	return from > 0 && to < len(text) && strings.IndexByte("\"'`", text[from-1]) >= 0 && text[to] == text[from-1]
}

// isCalled reports whether text[from:to] is called on something, as in connection.getSlot().
func isCalled(text string, from, to int) bool {
	after := to + spaces(text[to:])
	return from > 0 && text[from-1] == '.' && after < len(text) && strings.IndexByte("(<", text[after]) >= 0
}

// isItem reports whether text[from:to] is an item of a list: at the start of a line or after what
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

// isNextTo reports whether only spaces are between two positions.
func isNextTo(text string, end, begin int) bool {
	return begin > end && begin-end <= maxSpaces && strings.Trim(text[end:begin], " \t") == ""
}

// endsLine reports whether only spaces or a comment follow on the line.
func endsLine(text string, at int) bool {
	at += spaces(text[at:])
	return at == len(text) || strings.IndexByte("\r\n#", text[at]) >= 0
}

// maxSpaces bounds how far the surroundings of a word are searched.
const maxSpaces = 8

// spaces returns the number of spaces at the start of s, at most maxSpaces.
func spaces(s string) int {
	n := 0
	for n < min(len(s), maxSpaces) && (s[n] == ' ' || s[n] == '\t') {
		n++
	}
	return n
}

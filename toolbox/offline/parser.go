package offline

import (
	"fmt"
	"strings"
)

// parser reads a signature from left to right and writes its canonical form. It stops at the first
// problem.
type parser struct {
	text    string
	at      int
	out     []byte
	kind    string // function, event or error, if the signature starts with it
	problem string
}

func (p *parser) failf(format string, args ...any) {
	if p.problem == "" {
		p.problem = fmt.Sprintf(format, args...)
	}
}

// peek returns the next character that is no white space. At the end and after a problem it returns
// 0, which no signature contains.
func (p *parser) peek() byte {
	for p.problem == "" && p.at < len(p.text) {
		switch c := p.text[p.at]; c {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return c
		}
	}
	return 0
}

// take consumes the next character if it is c.
func (p *parser) take(c byte) bool {
	if p.peek() != c {
		return false
	}
	p.at++
	return true
}

// want consumes c, or fails.
func (p *parser) want(c byte, where string) {
	if !p.take(c) {
		p.failf("A %q is missing %s, at character %d.", c, where, p.at+1)
	}
}

// word reads letters, digits, $ and _; an empty one when something else is next.
func (p *parser) word() string {
	p.peek()
	from := p.at
	for p.problem == "" && p.at < len(p.text) && isWord(p.text[p.at]) {
		p.at++
	}
	return p.text[from:p.at]
}

// skip consumes the next word if it is word.
func (p *parser) skip(word string) bool {
	p.peek()
	before := p.at
	if p.word() == word {
		return true
	}
	p.at = before
	return false
}

func isWord(c byte) bool {
	return isDigit(c) || ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || c == '_' || c == '$'
}

// isName reports whether a word can name a function or a parameter.
func isName(word string) bool { return word != "" && !isDigit(word[0]) }

// signature reads the whole text.
func (p *parser) signature() {
	name := p.word()
	switch name {
	case "function", "event":
		p.kind, name = name, p.word()
	case "error":
		if p.peek() != '(' { // else it is a name, which Solidity allows
			p.kind, name = name, p.word()
		}
	case "constructor":
		p.failf("A constructor has no selector: its arguments stand behind the code that is deployed.")
	}
	if !isName(name) {
		p.failf("It begins with the name of a function, an event or an error, like transfer(address,uint256).")
		return
	}
	p.out = append(p.out, name...)
	p.parameters(0)
	p.ending()
	if p.peek(); p.at < len(p.text) {
		p.failf("At character %d the signature is over, and %s follows.", p.at+1, shown(p.text[p.at:]))
	}
}

// parameters reads types in parentheses, each with its label.
func (p *parser) parameters(depth int) {
	if depth > maxDepth {
		p.failf("More than %d tuples stand inside each other.", maxDepth)
	}
	p.want('(', "in front of the types")
	p.out = append(p.out, '(')
	if !p.take(')') {
		for p.problem == "" {
			p.parameter(depth)
			if p.take(')') {
				break
			}
			p.want(',', "between two types, or a bracket behind the last")
			p.out = append(p.out, ',')
		}
	}
	p.out = append(p.out, ')')
}

// parameter reads a type, and drops the label after it.
func (p *parser) parameter(depth int) {
	word := p.word()
	switch {
	case (word == "" || word == "tuple") && p.peek() == '(':
		p.parameters(depth + 1)
	case word == "":
		p.failf("A type is missing at character %d.", p.at+1)
	default:
		p.elementary(word)
	}
	if word == "address" {
		p.skip("payable")
	}
	p.arrays()
	p.label(depth)
}

// elementary writes the canonical form of a type that is no tuple.
func (p *parser) elementary(word string) {
	canonical, known := canonicalType(word)
	if !known {
		p.failf("%s", noType(word))
	}
	if word == "function" && p.peek() == '(' {
		p.failf("A parameter that is a function is written as the one word function.")
	}
	p.out = append(p.out, canonical...)
}

// arrays reads any number of [] and [n].
func (p *parser) arrays() {
	for p.take('[') {
		length := p.word()
		if !allOf(length, isDigit) || (len(length) > 1 && length[0] == '0') {
			p.failf("%s is no length of an array. It takes digits without zeros in front, or none.", shown(length))
		}
		p.want(']', "behind an array's length")
		p.out = append(append(append(p.out, '['), length...), ']')
	}
}

// label reads what may follow a type: indexed or a data location, and a name.
func (p *parser) label(depth int) {
	if p.skip("indexed") && (p.kind == "function" || p.kind == "error" || depth > 0) {
		p.failf("Only parameters of events are indexed, and no member of theirs.")
	}
	if !p.skip("memory") && !p.skip("calldata") {
		p.skip("storage")
	}
	word := p.word()
	if _, isType := canonicalType(word); isType {
		p.failf("Two types follow each other, the second is %s: a comma is missing.", word)
	}
	if word != "" && !isName(word) {
		p.failf("%s is no name of a parameter.", shown(word))
	}
}

// modifiers are the words that may follow the parameters and do not affect the selector.
const modifiers = " external public internal private view pure payable nonpayable constant virtual override "

// ending reads modifiers, the returned types and a semicolon.
func (p *parser) ending() {
	written := len(p.out)
	for word := p.word(); word != ""; word = p.word() {
		switch {
		case word == "returns":
			p.parameters(0)
		case word == "anonymous":
			p.failf("An anonymous event has no topic of its own.")
		case !strings.Contains(modifiers, " "+word+" "):
			p.failf("%s is nothing that stands behind the parameters.", shown(word))
		}
	}
	p.take(';')
	p.out = p.out[:written]
}

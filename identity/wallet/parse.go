package wallet

import (
	"strconv"
	"strings"
)

// Parse parses a message strictly by the grammar of EIP-4361: its lines in order, line feeds only,
// nothing after the last. The message renders to the same bytes. An error is ErrMessage with the
// line's number; the text is not repeated.
func Parse(text string) (*Message, error) {
	if len(text) > maxMessage {
		return nil, ErrMessage.about("The message is longer than %d bytes.", maxMessage)
	}
	p := &parser{lines: strings.Split(text, "\n")}
	m := &Message{}
	p.header(m)
	p.statement(m)
	m.URI = p.field("URI: ", isURI)
	p.field("Version: ", func(s string) bool { return s == Version })
	m.ChainID = p.chainID()
	m.Nonce = p.field("Nonce: ", isNonce)
	m.IssuedAt = p.timestamp("Issued At: ")
	if p.has("Expiration Time: ") {
		m.ExpirationTime = p.timestamp("Expiration Time: ")
	}
	if p.has("Not Before: ") {
		m.NotBefore = p.timestamp("Not Before: ")
	}
	if p.has("Request ID: ") {
		m.RequestID = new(p.field("Request ID: ", isRequestID))
	}
	if p.has(resources) {
		p.resources(m)
	}
	if p.err == nil && p.at < len(p.lines) {
		p.fail("nothing, or a field that comes later")
	}
	if p.err != nil {
		return nil, p.err
	}
	return m, nil
}

// parser reads the lines. It keeps its first error and reads nothing after it.
type parser struct {
	lines []string
	at    int
	err   error
}

func (p *parser) fail(want string) {
	if p.err == nil {
		p.err = ErrMessage.about("Line %d is not what EIP-4361 has there: %s.", p.at+1, want)
	}
}

// next returns the next line.
func (p *parser) next(want string) string {
	if p.err != nil {
		return ""
	}
	if p.at == len(p.lines) {
		p.fail(want)
		return ""
	}
	p.at++
	return p.lines[p.at-1]
}

// refuse is fail for the line that was read last.
func (p *parser) refuse(want string) {
	if p.err == nil {
		p.at--
		p.fail(want)
	}
}

func (p *parser) has(name string) bool {
	return p.err == nil && p.at < len(p.lines) && strings.HasPrefix(p.lines[p.at], name)
}

func (p *parser) field(name string, valid func(string) bool) string {
	want := `"` + name + `" and a value of the form that it has`
	value, found := strings.CutPrefix(p.next(want), name)
	if !found || !valid(value) {
		p.refuse(want)
		return ""
	}
	return value
}

func (p *parser) empty() {
	if p.next("an empty line") != "" {
		p.refuse("an empty line")
	}
}

// header reads the first three lines: the domain, the address, and an empty one.
func (p *parser) header(m *Message) {
	const want = `an ASCII domain, and "` + asks + `"`
	origin, found := strings.CutSuffix(p.next(want), asks)
	// A domain contains no slash, so the first "://" can only end a scheme.
	scheme, domain, hasScheme := strings.Cut(origin, "://")
	if !hasScheme {
		scheme, domain = "", origin
	}
	if !found || !isDomain(domain) || (hasScheme && !isScheme(scheme)) {
		p.refuse(want)
	}
	m.Scheme, m.Domain = scheme, domain

	const wantAddress = "an address in the capitals of EIP-55"
	address, ok := parseChecksummed(p.next(wantAddress))
	if !ok {
		p.refuse(wantAddress)
	}
	m.Address = address
	p.empty()
}

// statement reads the statement and the empty line after it, or a single empty line when there is
// none. An empty statement is two empty lines.
func (p *parser) statement(m *Message) {
	if p.err == nil && p.at+1 < len(p.lines) && p.lines[p.at] == "" && p.lines[p.at+1] != "" {
		p.at++
		return
	}
	const want = "a statement in the characters that EIP-4361 allows, or an empty line"
	statement := p.next(want)
	if !all(statement, statementSet) {
		p.refuse(want)
	}
	m.Statement = &statement
	p.empty()
}

func (p *parser) chainID() uint64 {
	var id uint64
	p.field("Chain ID: ", func(s string) bool {
		var err error
		id, err = strconv.ParseUint(s, 10, 64)
		return err == nil && strconv.FormatUint(id, 10) == s // no leading zeros
	})
	return id
}

func (p *parser) timestamp(name string) Timestamp {
	return Timestamp{p.field(name, func(s string) bool {
		_, ok := parseDateTime(s)
		return ok
	})}
}

func (p *parser) resources(m *Message) {
	p.field(resources, func(s string) bool { return s == "" })
	m.Resources = []string{}
	for p.err == nil && p.at < len(p.lines) {
		m.Resources = append(m.Resources, p.field(bullet, isURI))
	}
}

func isNonce(s string) bool {
	return len(s) >= minNonce && len(s) <= maxNonce && all(s, alphanumericSet)
}

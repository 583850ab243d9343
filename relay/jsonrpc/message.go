package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Message is one message of a protocol that uses JSON-RPC with named parameters (MCP). Its members
// are unchanged bytes.
type Message struct {
	ID     []byte // nil for a notification
	Method []byte // without quotes and escapes; nil for a response
	Params []byte // an object; nil if absent
	Answer bool   // it is a response: a result or an error instead of a method
}

// SplitMessage parses a body that holds one message. On an error it returns the members found so
// far, so that the id can be echoed.
func SplitMessage(body []byte) (Message, error) {
	object, err := single(body)
	if err != nil {
		return Message{}, err
	}
	if object[0] != '{' {
		return Message{}, fmt.Errorf("%w: it is not an object", ErrNotRequest)
	}
	var m Message
	var version, result, failure []byte
	err = members(object, func(name, val []byte) error {
		var field *[]byte
		switch string(name) {
		case "jsonrpc":
			field = &version
		case "id":
			field = &m.ID
		case "method":
			field = &m.Method
		case "params":
			field = &m.Params
		case "result":
			field = &result
		case "error":
			field = &failure
		}
		switch {
		case field == nil:
			return nil
		case *field != nil:
			return fmt.Errorf("%w: the member %s stands twice", ErrNotRequest, name)
		}
		*field = val
		return nil
	})
	if err != nil {
		return Message{}, err
	}
	m.Answer = m.Method == nil && (result != nil || failure != nil)
	return m, m.check(version)
}

func (m *Message) check(version []byte) error {
	switch {
	case len(m.ID) > maxIDBytes:
		m.ID = nil
		return fmt.Errorf("%w: the id is longer than %d bytes", ErrNotRequest, maxIDBytes)
	case m.Answer && string(m.ID) == "null": // the response to a message whose id could not be read
		m.ID = nil
	case m.ID != nil && m.ID[0] != '"' && m.ID[0] != '-' && !isDigit(m.ID[0]):
		m.ID = nil
		return fmt.Errorf("%w: the id must be a string or a number", ErrNotRequest)
	case string(version) != `"2.0"`:
		return fmt.Errorf(`%w: jsonrpc must be "2.0"`, ErrNotRequest)
	case m.Answer:
		return nil
	case len(m.Method) < 2 || m.Method[0] != '"':
		return fmt.Errorf("%w: method must be a string", ErrNotRequest)
	}
	m.Method = unescaped(m.Method)
	if string(m.Params) == "null" {
		m.Params = nil
	}
	switch {
	case len(m.Method) > maxMethodBytes:
		return fmt.Errorf("%w: method is longer than %d bytes", ErrNotRequest, maxMethodBytes)
	case m.Params != nil && m.Params[0] != '{':
		return fmt.Errorf("%w: params must be an object", ErrNotRequest)
	}
	return nil
}

// unescaped returns the text of a valid JSON string. Some encoders escape every slash, and method
// names contain slashes.
func unescaped(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	var text string
	_ = json.Unmarshal(quoted, &text) // it was validated as a JSON string before
	return []byte(text)
}

// single returns the one value in a body, without surrounding white space.
func single(body []byte) ([]byte, error) {
	if !utf8.Valid(body) {
		return nil, fmt.Errorf("%w: it is not UTF-8", ErrSyntax)
	}
	start := space(body, 0)
	end, err := value(body, start, MaxRequestDepth)
	if err != nil {
		return nil, err
	}
	if space(body, end) != len(body) {
		return nil, fmt.Errorf("%w: something follows the first value", ErrSyntax)
	}
	return body[start:end], nil
}

// AppendString appends text, which must be UTF-8, as a JSON string.
func AppendString(b, text []byte) []byte {
	b = append(b, '"')
	from := 0
	for i, c := range text {
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, text[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		default:
			b = fmt.Appendf(b, `\u%04x`, c)
		}
	}
	return append(append(b, text[from:]...), '"')
}

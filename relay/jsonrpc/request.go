package jsonrpc

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// Request is one parsed request. The slices alias the parsed body.
type Request struct {
	ID     []byte // as sent; nil if absent
	Method []byte // without quotes
	Params []byte // a JSON array; nil if absent
}

// ErrNotRequest is wrapped by errors about JSON that is no JSON-RPC 2.0 request. Their text is the
// reason.
var ErrNotRequest = errors.New("not a JSON-RPC 2.0 request")

// Limits of members that are echoed or looked up.
const (
	maxIDBytes     = 4096
	maxMethodBytes = 128
)

// IsBatch reports whether the body's first byte opens an array.
func IsBatch(body []byte) bool {
	i := space(body, 0)
	return i < len(body) && body[i] == '['
}

// SplitRequest parses one request. The error wraps ErrSyntax, ErrTooDeep or ErrNotRequest.
func SplitRequest(body []byte) (Request, error) {
	object, err := single(body)
	if err != nil {
		return Request{}, err
	}
	return splitObject(object)
}

// SplitBatch splits an array into its items, which SplitItem parses. If there are more than limit
// items, it returns tooMany and no items.
func SplitBatch(body []byte, limit int) (items [][]byte, tooMany bool, err error) {
	if !utf8.Valid(body) {
		return nil, false, fmt.Errorf("%w: it is not UTF-8", ErrSyntax)
	}
	start := space(body, 0)
	end, err := value(body, start, MaxRequestDepth+1)
	if err != nil {
		return nil, false, err
	}
	if space(body, end) != len(body) {
		return nil, false, fmt.Errorf("%w: something follows the first value", ErrSyntax)
	}
	i := space(body, start+1)
	if body[i] == ']' {
		return nil, false, fmt.Errorf("%w: the batch is empty", ErrNotRequest)
	}
	for more := true; more; {
		if len(items) == limit {
			return nil, true, nil
		}
		to, _ := value(body, i, MaxRequestDepth) // valid, because the whole array is
		items = append(items, body[i:to])
		i, more, _ = next(body, to, ']')
	}
	return items, false, nil
}

// SplitItem parses one item of a batch. The error wraps ErrNotRequest.
func SplitItem(item []byte) (Request, error) { return splitObject(item) }

// splitObject parses a request from valid JSON.
func splitObject(b []byte) (Request, error) {
	if b[0] != '{' {
		return Request{}, fmt.Errorf("%w: it is not an object", ErrNotRequest)
	}
	var r Request
	var version []byte
	err := members(b, func(name, val []byte) error {
		var field *[]byte
		switch string(name) {
		case "jsonrpc":
			field = &version
		case "id":
			field = &r.ID
		case "method":
			field = &r.Method
		case "params":
			field = &r.Params
		default:
			return nil
		}
		if *field != nil {
			return fmt.Errorf("%w: the member %s stands twice", ErrNotRequest, name)
		}
		*field = val
		return nil
	})
	if err != nil {
		return Request{}, err
	}
	return r, r.check(version)
}

func (r *Request) check(version []byte) error {
	if len(r.ID) > maxIDBytes {
		r.ID = nil // refused, so it is not echoed either
		return fmt.Errorf("%w: the id is longer than %d bytes", ErrNotRequest, maxIDBytes)
	}
	if string(version) != `"2.0"` {
		return fmt.Errorf(`%w: jsonrpc must be "2.0"`, ErrNotRequest)
	}
	if len(r.Method) < 2 || r.Method[0] != '"' {
		return fmt.Errorf("%w: method must be a string", ErrNotRequest)
	}
	r.Method = r.Method[1 : len(r.Method)-1]
	if len(r.Method) > maxMethodBytes {
		return fmt.Errorf("%w: method is longer than %d bytes", ErrNotRequest, maxMethodBytes)
	}
	if string(r.Params) == "null" {
		r.Params = nil
	}
	if r.Params != nil && r.Params[0] != '[' {
		return fmt.Errorf("%w: params must be an array", ErrNotRequest)
	}
	return nil
}

// members calls f for each member of the object b, which must be valid JSON.
func members(b []byte, f func(name, val []byte) error) error {
	i := space(b, 1)
	if b[i] == '}' {
		return nil
	}
	for more := true; more; {
		name, from, err := memberName(b, i)
		if err != nil {
			return err
		}
		end, err := value(b, from, MaxResponseDepth)
		if err != nil {
			return err
		}
		if err := f(name, b[from:end]); err != nil {
			return err
		}
		if i, more, err = next(b, end, '}'); err != nil {
			return err
		}
	}
	return nil
}

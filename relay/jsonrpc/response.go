package jsonrpc

import (
	"bytes"
	"errors"
	"fmt"
)

// Response is one parsed response. Exactly one of Result and Error is set. The slices alias the
// parsed body.
type Response struct {
	ID     []byte
	Result []byte
	Error  []byte // an object
}

// ErrNotResponse is wrapped by errors about JSON that is no JSON-RPC response.
var ErrNotResponse = errors.New("not a JSON-RPC response")

// SplitResponse parses a whole response. The error wraps ErrSyntax, ErrTooDeep or ErrNotResponse.
func SplitResponse(body []byte) (Response, error) {
	r, from, err := splitPrefix(body)
	if err == nil && from >= 0 {
		err = ErrTruncated
	}
	return r, err
}

// Opening is the beginning of a response, read at least as far as the start of its result.
type Opening struct {
	ID     []byte // nil if it comes after the result
	Result []byte // the part of the result that was read
	Done   bool   // whether Result is complete
	Tail   []byte // what was read after the result
	rest   follower
}

// SplitOpening parses the beginning of a response that continues after prefix. The error wraps
// ErrSyntax, ErrTooDeep or ErrNotResponse. An error object that does not fit in prefix is refused.
func SplitOpening(prefix []byte) (Opening, error) {
	r, from, err := splitPrefix(prefix)
	if err != nil {
		return Opening{}, err
	}
	if from < 0 {
		return Opening{}, fmt.Errorf("%w: it ended before its body did", ErrNotResponse)
	}
	o := Opening{ID: r.ID}
	n, done, err := o.rest.feed(prefix[from:])
	if err != nil {
		return Opening{}, err
	}
	o.Result, o.Tail, o.Done = prefix[from:from+n], prefix[from+n:], done
	return o, nil
}

// Feed reads the next chunk of the result and returns how many of its bytes belong to it; done is
// true once the result has ended. The error is ErrSyntax or ErrTooDeep: the bytes so far are not
// the beginning of a JSON value.
func (o *Opening) Feed(chunk []byte) (n int, done bool, err error) { return o.rest.feed(chunk) }

// CheckTail parses what follows the result of an Opening: further members and the end of the
// object. It returns the id if it is among them.
func CheckTail(tail []byte) (id []byte, err error) {
	i := space(tail, 0)
	if i >= len(tail) {
		return nil, ErrTruncated
	}
	if tail[i] != '}' && tail[i] != ',' {
		return nil, ErrSyntax
	}
	// The tail is the rest of an object whose first member is known.
	whole := append([]byte(`{"result":0`), tail[i:]...)
	r, from, err := splitPrefix(whole)
	switch {
	case err != nil:
		return nil, err
	case from >= 0:
		return nil, ErrTruncated
	}
	return bytes.Clone(r.ID), nil
}

// splitPrefix parses b. If b ends too early, but within the result or after it, from is the start
// of the result; otherwise from is -1.
func splitPrefix(b []byte) (r Response, from int, err error) {
	i := space(b, 0)
	if i >= len(b) {
		return Response{}, -1, ErrTruncated
	}
	if b[i] != '{' {
		if _, err := value(b, i, MaxResponseDepth); err != nil {
			return Response{}, -1, err
		}
		return Response{}, -1, fmt.Errorf("%w: it is not an object", ErrNotResponse)
	}
	i = space(b, i+1)
	if i < len(b) && b[i] == '}' {
		return Response{}, -1, fmt.Errorf("%w: it is empty", ErrNotResponse)
	}
	open := -1
	cut := func(err error) (Response, int, error) {
		if open >= 0 && errors.Is(err, ErrTruncated) {
			return r, open, nil
		}
		return Response{}, -1, err
	}
	for more := true; more; {
		name, at, err := memberName(b, i)
		if err != nil {
			return cut(err)
		}
		if string(name) == "result" && r.Result == nil && r.Error == nil && at < len(b) {
			open = at
		}
		end, err := value(b, at, MaxResponseDepth)
		if err != nil {
			return cut(err)
		}
		if err := r.take(name, b[at:end]); err != nil {
			return Response{}, -1, err
		}
		if i, more, err = next(b, end, '}'); err != nil {
			return cut(err)
		}
	}
	if space(b, i) != len(b) {
		return Response{}, -1, fmt.Errorf("%w: something follows the object", ErrSyntax)
	}
	return r, -1, r.check()
}

func (r *Response) take(name, val []byte) error {
	var field *[]byte
	switch string(name) {
	case "id":
		field = &r.ID
	case "result":
		field = &r.Result
	case "error":
		if string(val) == "null" { // some nodes send both members
			return nil
		}
		field = &r.Error
	default:
		return nil
	}
	if *field != nil {
		return fmt.Errorf("%w: the member %s stands twice", ErrNotResponse, name)
	}
	*field = val
	return nil
}

func (r *Response) check() error {
	switch {
	case r.Error != nil && r.Error[0] != '{':
		return fmt.Errorf("%w: error is not an object", ErrNotResponse)
	case r.Error != nil && r.Result != nil && string(r.Result) != "null":
		return fmt.Errorf("%w: it has both a result and an error", ErrNotResponse)
	case r.Error != nil:
		r.Result = nil
	case r.Result == nil:
		return fmt.Errorf("%w: it has neither result nor error", ErrNotResponse)
	}
	return nil
}

package jsonrpc

import (
	"bytes"
	"errors"
	"fmt"
)

// Response is one response, split. Exactly one of Result and Error is set. The slices point into
// the body that was split.
type Response struct {
	ID     []byte
	Result []byte
	Error  []byte // an object
}

// ErrNotResponse is wrapped by errors about JSON that is no JSON-RPC response.
var ErrNotResponse = errors.New("not a JSON-RPC response")

// SplitResponse splits a whole response. The error wraps ErrSyntax, ErrTooDeep or ErrNotResponse.
func SplitResponse(body []byte) (Response, error) {
	r, from, err := splitPrefix(body)
	if err == nil && from >= 0 {
		err = ErrTruncated
	}
	return r, err
}

// Opening is a response of which only the beginning was read, as far as its result at least.
type Opening struct {
	ID     []byte // nil when it comes after the result
	Result []byte // what was read of the result
	Done   bool   // whether that is all of it
	Tail   []byte // what was read after it
	rest   follower
}

// SplitOpening splits the beginning of a response that goes on past the prefix. The error wraps
// ErrSyntax or ErrNotResponse; an error object that does not fit is refused.
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

// Feed takes the next chunk and tells how many of its bytes belong to the result; done once the
// result has ended. The error is ErrSyntax or ErrTooDeep: what was fed so far is the beginning of
// no JSON value.
func (o *Opening) Feed(chunk []byte) (n int, done bool, err error) { return o.rest.feed(chunk) }

// CheckTail takes what follows the result of an Opening: further members, of which id is given, and
// the end of the object.
func CheckTail(tail []byte) (id []byte, err error) {
	i := space(tail, 0)
	if i >= len(tail) {
		return nil, ErrTruncated
	}
	if tail[i] != '}' && tail[i] != ',' {
		return nil, ErrSyntax
	}
	// The tail reads like the rest of an object whose first member is known.
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

// splitPrefix splits b. When b ends too early, but inside the result's value or after it, from is
// where that value starts; otherwise from is -1.
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

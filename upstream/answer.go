package upstream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/klauspost/compress/gzip"

	"github.com/chainaccess/gateway/jsonrpc"
)

// Answer is an upstream's answer. Result or Error are its own bytes, untouched save for credentials in errors; they are valid
// until Release. When Rest is set the result goes on there.
type Answer struct {
	Result []byte
	Error  []byte
	Rest   io.Reader

	body   io.ReadCloser
	source io.Reader    // body, or what it is out of gzip
	gunzip *gzip.Reader // nil when it is not compressed
	buffer *[]byte
}

const (
	peekBytes = 256 << 10 // an answer that fits is judged whole; of a longer one this much is seen before it streams
	tailBytes = 8 << 10   // what may follow the result of a streamed answer
	firstRead = 4 << 10
)

var buffers = sync.Pool{New: func() any {
	b := make([]byte, 0, firstRead)
	return &b
}}

var (
	// ErrTooLarge is that of a stream that would grow larger than the request allows. Nobody is blamed for it.
	ErrTooLarge = errors.New("the answer is larger than MAX_ANSWER_BYTES")
	errWrongID  = errors.New("the answer has another id")
)

// Release gives the answer's memory and connection back. Result, Error and Rest must not be used afterwards.
func (a *Answer) Release() {
	if a.body != nil {
		_ = a.body.Close()
	}
	if a.buffer != nil && cap(*a.buffer) <= peekBytes {
		*a.buffer = (*a.buffer)[:0]
		buffers.Put(a.buffer)
	}
	a.giveBackGunzip()
	*a = Answer{}
}

// readAnswer reads an answer: whole when it fits the peek, with Rest otherwise. On error everything is released.
func readAnswer(resp *http.Response, most int64) (*Answer, error) {
	a := &Answer{body: resp.Body, source: resp.Body, buffer: buffers.Get().(*[]byte)} //nolint:errcheck,forcetypeassert // the pool holds these only
	if resp.ContentLength > most {
		a.Release()
		return nil, ErrTooLarge
	}
	err := a.decode(resp)
	var whole bool
	if err == nil {
		whole, err = a.peek(resp.ContentLength)
	}
	switch {
	case err != nil:
	case whole:
		err = a.split()
	default:
		err = a.open(most)
	}
	if err != nil {
		a.Release()
		return nil, err
	}
	return a, nil
}

// peek fills the buffer up to peekBytes and tells whether that is the whole body. length is the body's, -1 when it is not known.
func (a *Answer) peek(length int64) (whole bool, err error) {
	b := *a.buffer
	if length > int64(cap(b)) {
		b = make([]byte, 0, min(length+1, peekBytes)) // one more, so that the end shows without growing
	}
	for len(b) < peekBytes {
		if len(b) == cap(b) {
			b = append(make([]byte, 0, min(2*cap(b), peekBytes)), b...)
		}
		n, err := a.source.Read(b[len(b):min(cap(b), peekBytes)])
		b = b[:len(b)+n]
		if errors.Is(err, io.EOF) {
			*a.buffer = b
			return true, nil
		}
		if err != nil {
			*a.buffer = b
			return false, err
		}
	}
	*a.buffer = b
	return false, nil
}

func (a *Answer) split() error {
	r, err := jsonrpc.SplitResponse(*a.buffer)
	if err != nil {
		return err
	}
	if !ourID(r.ID, r.Error != nil) {
		return errWrongID
	}
	a.Result, a.Error = r.Result, r.Error
	return nil
}

func (a *Answer) open(most int64) error {
	o, err := jsonrpc.SplitOpening(*a.buffer)
	if err != nil {
		return err
	}
	if o.ID != nil && !ourID(o.ID, false) {
		return errWrongID
	}
	a.Result = o.Result
	a.Rest = &rest{opening: o, source: a.source, left: most - int64(len(*a.buffer))}
	return nil
}

// ourID is whether id is the one that exchange sends. A node that could not read a request answers with null.
func ourID(id []byte, isError bool) bool {
	return string(id) == requestID || (isError && string(id) == "null")
}

// rest reads on to the end of the result, then checks what follows it. io.EOF says that the answer was whole; any other error
// that it broke off.
type rest struct {
	opening jsonrpc.Opening
	source  io.Reader
	left    int64
}

func (r *rest) Read(p []byte) (int, error) {
	if r.opening.Done {
		return 0, r.finish()
	}
	n, err := r.source.Read(p)
	if r.left -= int64(n); r.left < 0 {
		return 0, ErrTooLarge
	}
	mine, done, broken := r.opening.Feed(p[:n])
	if broken != nil {
		return mine, broken
	}
	if done {
		r.opening.Done = true
		r.opening.Tail = bytes.Clone(p[mine:n])
		return mine, nil
	}
	if errors.Is(err, io.EOF) {
		return mine, io.ErrUnexpectedEOF
	}
	return mine, err
}

// finish reads the members after the result and checks them.
func (r *rest) finish() error {
	more, err := io.ReadAll(io.LimitReader(r.source, tailBytes+1))
	if err != nil {
		return err
	}
	tail := append(bytes.Clone(r.opening.Tail), more...)
	if len(tail) > tailBytes {
		return fmt.Errorf("%w: too much follows the result", jsonrpc.ErrNotResponse)
	}
	id, err := jsonrpc.CheckTail(tail)
	if err != nil {
		return err
	}
	if r.opening.ID == nil && !ourID(id, false) {
		return errWrongID
	}
	return io.EOF
}

package upstream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/klauspost/compress/gzip"

	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/relay/jsonrpc"
	"github.com/chainaccess/gateway/relay/upstream/internal/logrange"
	"github.com/chainaccess/gateway/relay/upstream/internal/plainhttp"
)

// Answer is an upstream's answer. Result and Error are its own bytes, unchanged except that
// credentials are removed from errors; they are valid until Release. If Rest is set, it streams the
// rest of the result.
type Answer struct {
	Result []byte
	Error  []byte
	Rest   io.Reader

	from   string // the upstream, if it answered a part of a range of logs
	nullID bool   // an error with id null: the call that it answers is unknown
	body   io.ReadCloser
	source io.Reader    // body, or its gunzipped content
	gunzip *gzip.Reader // nil if the body is not compressed
	buffer *[]byte
}

const (
	peekBytes = 256 << 10 // an answer up to this size is judged whole; a longer one streams after this much
	tailBytes = 8 << 10   // what may follow the result of a streamed answer
	firstRead = 4 << 10
)

var buffers = sync.Pool{New: func() any {
	b := make([]byte, 0, firstRead)
	return &b
}}

var (
	// ErrTooLarge reports an answer or a stream larger than the request allows. It is no failure of
	// the upstream.
	ErrTooLarge = errors.New("the answer is larger than MAX_ANSWER_BYTES")
	errWrongID  = errors.New("the answer has another call's id")
	errNoID     = errors.New("the answer has no id")
	errLateID   = errors.New("the answer would go out before it is known whose it is")
)

// Release frees the answer's memory and connection. Result, Error and Rest must not be used
// afterwards.
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

// readAnswer reads the answer to the request with this id: whole if it fits in peekBytes, else with
// Rest. On an error it releases everything. An answer with another id also ends its connection.
func (e *Endpoint) readAnswer(resp *http.Response, limit int64, id []byte) (*Answer, error) {
	//nolint:errcheck,forcetypeassert // the pool holds these only
	a := &Answer{body: resp.Body, source: resp.Body, buffer: buffers.Get().(*[]byte)}
	if resp.ContentLength > limit {
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
		err = a.split(id)
	default:
		err = a.open(e, resp.Body, limit, id)
	}
	if err != nil {
		if errors.Is(err, errWrongID) {
			e.misled(resp.Body)
		}
		a.Release()
		return nil, err
	}
	if whole {
		_ = a.body.Close() // returns the connection to the pool
		a.body = nil
	}
	return a, nil
}

// misled counts an answer with another call's id and ends the connection, because the answers that
// follow on it cannot be attributed.
func (e *Endpoint) misled(body io.Reader) {
	e.metrics.Stray(telemetry.AnotherID)
	if c, ok := body.(plainhttp.Ender); ok {
		c.EndConnection()
	}
}

// peek fills the buffer up to peekBytes and reports whether that is the whole body. length is the
// body's, -1 if unknown.
func (a *Answer) peek(length int64) (whole bool, err error) {
	b := *a.buffer
	if length > int64(cap(b)) {
		b = make([]byte, 0, min(length+1, peekBytes)) // one more, so that the end is seen without growing
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

func (a *Answer) split(id []byte) error {
	r, err := jsonrpc.SplitResponse(*a.buffer)
	if err != nil {
		return err
	}
	if a.nullID = r.Error != nil && string(r.ID) == "null"; !a.nullID {
		if err := checkID(r.ID, id); err != nil {
			return err
		}
	}
	a.Result, a.Error = r.Result, r.Error
	return nil
}

// open starts streaming an answer that is longer than peekBytes. An id before the result is checked
// now. If the result comes first, its bytes are sent before the id is known. That is allowed only
// on a connection that has answered no other call (else errLateID). A wrong id then breaks the
// stream off before its end, so that it never becomes valid JSON.
func (a *Answer) open(e *Endpoint, body io.Reader, limit int64, id []byte) error {
	o, err := jsonrpc.SplitOpening(*a.buffer)
	if err != nil {
		return err
	}
	if o.ID != nil {
		if err := checkID(o.ID, id); err != nil {
			return err
		}
	} else if l, ok := body.(plainhttp.Loner); !ok || !l.Alone() {
		return errLateID
	}
	a.Result = o.Result
	a.Rest = &rest{opening: o, source: a.source, left: limit - int64(len(*a.buffer)), id: id, endpoint: e, body: body}
	return nil
}

// checkID compares an answer's id with the request's, byte for byte. The error is errNoID or
// errWrongID.
func checkID(id, asked []byte) error {
	switch {
	case bytes.Equal(id, asked):
		return nil
	case id == nil:
		return errNoID
	}
	return errWrongID
}

// rest streams the result to its end, then checks what follows it. io.EOF means that the answer was
// complete; any other error means that it broke off.
type rest struct {
	opening jsonrpc.Opening
	source  io.Reader
	left    int64

	id       []byte // of the request
	endpoint *Endpoint
	body     io.Reader // the original body, to end its connection
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
	if r.opening.ID == nil {
		if err := checkID(id, r.id); err != nil {
			if errors.Is(err, errWrongID) {
				r.endpoint.misled(r.body)
			}
			return err
		}
	}
	return io.EOF
}

// checkLogs checks that a result is the logs of a range: what was read now, and what streams later.
func (a *Answer) checkLogs(within logrange.Range) error {
	c := logrange.NewChecker(within)
	if err := c.Feed(a.Result); err != nil {
		return err
	}
	if a.Rest != nil {
		a.Rest = c.Reader(a.Rest)
		return nil
	}
	return c.End()
}

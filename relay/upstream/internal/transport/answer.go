// Package transport sends calls to one upstream, each under an id of its own, and reads the
// answers.
package transport

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

	From   string // the upstream, if it answered a part of a range of logs
	NullID bool   // an error with id null: the call that it answers is unknown
	// LastWords marks null, or an error that may not be the node's own, that is the answer because
	// no upstream gave a better one.
	LastWords bool

	body   io.ReadCloser
	source io.Reader    // body, or its gunzipped content
	gunzip *gzip.Reader // nil if the body is not compressed
	buffer *[]byte
}

// PeekBytes is the size up to which an answer is judged whole. A longer one streams after this
// much.
const PeekBytes = 256 << 10

const (
	tailBytes = 8 << 10 // what may follow the result of a streamed answer
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
	// ErrLateID reports an answer whose id comes after more than PeekBytes of its result.
	ErrLateID = errors.New("the answer would go out before it is known whose it is")
)

// IsNull reports whether the result is null. A nil answer has none.
func (a *Answer) IsNull() bool {
	return a != nil && a.Error == nil && a.Rest == nil && string(a.Result) == "null"
}

// Release frees the answer's memory and connection. Result, Error and Rest must not be used
// afterwards.
func (a *Answer) Release() {
	if a.body != nil {
		_ = a.body.Close()
	}
	if a.buffer != nil && cap(*a.buffer) <= PeekBytes {
		*a.buffer = (*a.buffer)[:0]
		buffers.Put(a.buffer)
	}
	a.giveBackGunzip()
	*a = Answer{}
}

// OnRelease calls release once, when the answer is released.
func (a *Answer) OnRelease(release func()) { a.body = &releasingBody{a.body, release} }

// releasingBody is a body that releases something when it is closed.
type releasingBody struct {
	io.ReadCloser // nil for an answer that is in memory

	release func()
}

// Close is called once, by Release.
func (h *releasingBody) Close() error {
	defer h.release()
	if h.ReadCloser == nil {
		return nil
	}
	return h.ReadCloser.Close()
}

// ReadAnswer reads the answer to the request with this id: whole if it fits in PeekBytes, else with
// Rest. On an error it releases everything. An answer with another id also ends its connection.
func ReadAnswer(resp *http.Response, limit int64, id []byte, metrics *telemetry.Upstream) (*Answer, error) {
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
		err = a.open(metrics, resp.Body, limit, id)
	}
	if err != nil {
		if errors.Is(err, errWrongID) {
			misled(metrics, resp.Body)
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
func misled(metrics *telemetry.Upstream, body io.Reader) {
	metrics.Stray(telemetry.AnotherID)
	if c, ok := body.(plainhttp.Ender); ok {
		c.EndConnection()
	}
}

// peek fills the buffer up to PeekBytes and reports whether that is the whole body. length is the
// body's, -1 if unknown.
func (a *Answer) peek(length int64) (whole bool, err error) {
	b := *a.buffer
	if length > int64(cap(b)) {
		b = make([]byte, 0, min(length+1, PeekBytes)) // one more, so that the end is seen without growing
	}
	for len(b) < PeekBytes {
		if len(b) == cap(b) {
			b = append(make([]byte, 0, min(2*cap(b), PeekBytes)), b...)
		}
		n, err := a.source.Read(b[len(b):min(cap(b), PeekBytes)])
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
	if a.NullID = r.Error != nil && string(r.ID) == "null"; !a.NullID {
		if err := checkID(r.ID, id); err != nil {
			return err
		}
	}
	a.Result, a.Error = r.Result, r.Error
	return nil
}

// open starts streaming an answer that is longer than PeekBytes. An id before the result is checked
// now. If the result comes first, its bytes are sent before the id is known. That is allowed only
// on a connection that has answered no other call (else ErrLateID). A wrong id then breaks the
// stream off before its end, so that it never becomes valid JSON.
func (a *Answer) open(metrics *telemetry.Upstream, body io.Reader, limit int64, id []byte) error {
	o, err := jsonrpc.SplitOpening(*a.buffer)
	if err != nil {
		return err
	}
	if o.ID != nil {
		if err := checkID(o.ID, id); err != nil {
			return err
		}
	} else if l, ok := body.(plainhttp.Loner); !ok || !l.Alone() {
		return ErrLateID
	}
	a.Result = o.Result
	a.Rest = &rest{
		opening: o, source: a.source, left: limit - int64(len(*a.buffer)), id: id, metrics: metrics, body: body,
	}
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

	id      []byte // of the request
	metrics *telemetry.Upstream
	body    io.Reader // the original body, to end its connection
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
				misled(r.metrics, r.body)
			}
			return err
		}
	}
	return io.EOF
}

// CheckLogs checks that a result is the logs of a range: what was read now, and what streams later.
func (a *Answer) CheckLogs(within logrange.Range) error {
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

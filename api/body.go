package api

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/internal/fault"
)

// Bodies of more than usualBody bytes are transactions with blobs, or very large batches. The
// process holds only so many of them at a time that they take largeBytes at most, an account only a
// share of those, and a caller without a key or a credential none.
const (
	usualBody  = 1 << 20
	largeBytes = 64 << 20
	largeShare = 4 // a quarter
	retryBody  = time.Second
)

// largeBodies counts the large bodies that are held, from when they exceed usualBody until their
// call has been answered.
type largeBodies struct {
	max int

	mu   sync.Mutex // guards what follows
	all  int
	held map[uuid.UUID]int // by account
}

func newLargeBodies(maxBody int64) *largeBodies {
	return &largeBodies{max: int(max(1, largeBytes/max(1, maxBody))), held: make(map[uuid.UUID]int)}
}

// take reports whether an account may hold one more. After true the caller must call give.
func (l *largeBodies) take(account uuid.UUID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all >= l.max || l.held[account] >= max(1, l.max/largeShare) {
		return false
	}
	l.all++
	l.held[account]++
	return true
}

func (l *largeBodies) give(account uuid.UUID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.held[account]--; l.held[account] == 0 {
		delete(l.held, account)
	}
}

var buffers = sync.Pool{New: func() any {
	b := make([]byte, 0, 2<<10)
	return &b
}}

const keepBuffer = 128 << 10 // bytes; larger buffers are left to the garbage collector

func giveBack(b *[]byte) {
	if cap(*b) <= keepBuffer {
		*b = (*b)[:0]
		buffers.Put(b)
	}
}

// requestBody is the memory of a request's body of at most limit bytes.
type requestBody struct {
	limit  int64
	buffer *[]byte
	owner  uuid.UUID    // the account
	among  *largeBodies // nil if it is none of them
}

// newBody returns an empty body, which the caller must release.
func newBody(limit int64) *requestBody {
	//nolint:errcheck,forcetypeassert // the pool holds nothing else
	return &requestBody{limit: limit, buffer: buffers.Get().(*[]byte)}
}

func (b *requestBody) tooLarge() *fault.Error {
	return fault.New(fault.BodyTooLarge, "The body is larger than %d bytes. Split it into smaller requests.", b.limit)
}

func (b *requestBody) release() {
	giveBack(b.buffer)
	if b.among != nil {
		b.among.give(b.owner)
	}
}

// grow counts the body among the large ones, once; false if there is no room.
func (b *requestBody) grow(among *largeBodies) bool {
	if b.among == nil && among.take(b.owner) {
		b.among = among
	}
	return b.among != nil
}

// readBody reads at most the limit of buffer into it, and decompresses gzip.
func (s *server) readBody(r *http.Request, buffer *requestBody) ([]byte, *fault.Error) {
	if r.ContentLength > buffer.limit {
		return nil, buffer.tooLarge()
	}
	if coding := r.Header["Content-Encoding"]; len(coding) > 0 {
		switch strings.ToLower(strings.Join(coding, ",")) {
		case "gzip", "x-gzip":
			return s.gunzip(r, buffer)
		case "identity", "":
		default:
			return nil, fault.New(fault.NotARequest,
				"The body's Content-Encoding is not served. Send it plain or as gzip.")
		}
	}
	body, refusal, err := s.readAll(r.Body, buffer)
	if err != nil {
		return nil, fault.New(fault.NotARequest, "The body did not arrive in whole. Send it again.").Wrap(err)
	}
	return body, refusal
}

// readAll reads from until EOF. It refuses more than the limit of buffer, and more than usualBody
// while there is no room for a large body.
func (s *server) readAll(from io.Reader, buffer *requestBody) ([]byte, *fault.Error, error) {
	b := (*buffer.buffer)[:0]
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := from.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		*buffer.buffer = b
		switch {
		case int64(len(b)) > buffer.limit:
			return nil, buffer.tooLarge(), nil
		case len(b) > usualBody && !buffer.grow(s.largeBodies):
			f := fault.New(fault.UpstreamFailed, "The gateway holds as many bodies of more than %d bytes as it has "+
				"memory for, in all or of your account. Nothing was charged; send it again in a second, or in smaller "+
				"requests.", usualBody)
			f.RetryAfter = retryBody
			return nil, f, nil
		case errors.Is(err, io.EOF):
			return b, nil, nil
		case err != nil:
			return nil, nil, err
		}
	}
}

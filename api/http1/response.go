package http1

import (
	"errors"
	"net/http"
	"strconv"
	"time"
)

// response writes one answer: in one piece when it is small or has a Content-Length, in chunks
// otherwise.
type response struct {
	conn    *conn
	header  http.Header
	out     []byte // head and body that are not sent yet
	spare   []byte // where the head and the held body are joined
	status  int    // zero until the header is written
	length  int64  // the handler's Content-Length; -1 when it set none
	written int64  // bytes of the body, by the handler
	sent    bool   // the head was sent or is in out
	chunked bool
	counted bool // the length is that of the written body, and not in the header yet
	timed   bool // the handler set its own write deadline
	err     error
}

const (
	holdBytes = 8 << 10  // a body without a length is held up to this size, so that small ones get a Content-Length
	sendBytes = 32 << 10 // a body with a length is buffered up to this size
	keepOut   = 64 << 10
)

var (
	errTooMuch   = errors.New("http: wrote more than the declared Content-Length")
	errTooLittle = errors.New("http: wrote less than the declared Content-Length")
)

var (
	_ http.Flusher        = (*response)(nil)
	_ http.ResponseWriter = (*response)(nil)
)

func (w *response) reset() {
	clear(w.header)
	if cap(w.out) > keepOut {
		w.out = nil
	}
	*w = response{conn: w.conn, header: w.header, out: w.out[:0], spare: w.spare, length: -1}
}

// Header implements http.ResponseWriter.
func (w *response) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter. It ignores informational (1xx) responses.
func (w *response) WriteHeader(status int) {
	if w.status != 0 || status < http.StatusOK {
		return
	}
	w.status = status
	if values := w.header["Content-Length"]; len(values) > 0 {
		n, err := strconv.ParseUint(values[0], 10, 62)
		if err == nil {
			w.length = int64(n) //nolint:gosec // 62 bits
		} else {
			delete(w.header, "Content-Length")
		}
	}
}

// Write implements http.ResponseWriter.
func (w *response) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	switch {
	case w.err != nil:
		return 0, w.err
	case !bodyAllowed(w.status):
		return 0, http.ErrBodyNotAllowed
	case w.length >= 0 && w.written+int64(len(p)) > w.length:
		return 0, errTooMuch
	}
	w.written += int64(len(p))
	if w.length < 0 && !w.sent && len(w.out)+len(p) <= holdBytes {
		w.out = append(w.out, p...)
		return len(p), nil
	}
	w.writeHead()
	if !w.chunked && len(w.out)+len(p) <= sendBytes {
		w.out = append(w.out, p...)
		return len(p), nil
	}
	w.send(p)
	return len(p), w.err
}

// writeHead puts the head in front of the held body. A body of unknown length is sent in chunks.
func (w *response) writeHead() {
	if w.sent {
		return
	}
	w.sent = true
	held := len(w.out)
	w.chunked = w.length < 0 && bodyAllowed(w.status)
	w.out = w.appendHead(w.out)
	if held == 0 {
		return
	}
	whole := w.spare[:0]
	whole = append(whole, w.out[held:]...)
	if w.chunked {
		whole = append(appendChunk(whole, w.out[:held]), '\r', '\n')
	} else {
		whole = append(whole, w.out[:held]...)
	}
	w.out, w.spare = whole, w.out
}

// send sends the buffered bytes and then p, in one write when that copies little.
func (w *response) send(p []byte) {
	if w.err != nil {
		return
	}
	switch {
	case w.chunked && len(p) > 0:
		w.out = append(appendChunk(w.out, p), '\r', '\n')
		p = nil
	case len(p) <= sendBytes:
		w.out = append(w.out, p...)
		p = nil
	}
	if !w.timed {
		w.conn.setWriteBy()
	}
	if _, w.err = w.conn.net.Write(w.out); w.err == nil && len(p) > 0 {
		_, w.err = w.conn.net.Write(p)
	}
	w.out = w.out[:0]
}

func appendChunk(out, p []byte) []byte {
	out = strconv.AppendInt(out, int64(len(p)), 16)
	return append(append(out, '\r', '\n'), p...)
}

// Flush implements http.Flusher.
func (w *response) Flush() { _ = w.FlushError() }

// FlushError sends what was written so far.
func (w *response) FlushError() error {
	w.WriteHeader(http.StatusOK)
	w.writeHead()
	if len(w.out) > 0 {
		w.send(nil)
	}
	return w.err
}

// SetReadDeadline is for http.ResponseController. It does nothing, because the body was read before
// the handler ran.
func (w *response) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline is for http.ResponseController.
func (w *response) SetWriteDeadline(at time.Time) error {
	w.timed, w.conn.writeBy = true, at
	return w.conn.net.SetWriteDeadline(at)
}

// finish sends the rest. An error means that the client did not get a complete answer.
func (w *response) finish() error {
	w.WriteHeader(http.StatusOK)
	if !w.sent && w.length < 0 && bodyAllowed(w.status) {
		w.length, w.counted = w.written, true
	}
	w.writeHead()
	if w.chunked {
		w.out = append(w.out, "0\r\n\r\n"...)
	}
	if len(w.out) > 0 {
		w.send(nil)
	}
	if w.err == nil && w.length >= 0 && w.written < w.length && bodyAllowed(w.status) {
		return errTooLittle
	}
	return w.err
}

func bodyAllowed(status int) bool {
	return status != http.StatusNoContent && status != http.StatusNotModified
}

func (w *response) appendHead(b []byte) []byte {
	b = append(b, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(w.status), 10)
	b = append(append(append(b, ' '), http.StatusText(w.status)...), '\r', '\n')
	for name, values := range w.header {
		if name == "Connection" || name == "Transfer-Encoding" || name == "Date" || !all(name, inName) {
			continue // the fast path sets it
		}
		for _, value := range values {
			b = append(append(b, name...), ':', ' ')
			b = append(appendValue(b, value), '\r', '\n')
		}
	}
	b = append(append(b, "Date: "...), w.conn.server.date()...)
	switch {
	case w.chunked:
		b = append(b, "\r\nTransfer-Encoding: chunked"...)
	case w.counted:
		b = strconv.AppendInt(append(b, "\r\nContent-Length: "...), w.length, 10)
	}
	if w.conn.server.stopping.Load() {
		w.conn.following = false
	}
	if !w.conn.following {
		b = append(b, "\r\nConnection: close"...)
	}
	return append(b, endOfHead...)
}

// appendValue appends a field's value. It replaces line breaks with spaces, as net/http does.
func appendValue(b []byte, value string) []byte {
	for i := range len(value) {
		if value[i] == '\r' || value[i] == '\n' {
			b = append(b, ' ')
		} else {
			b = append(b, value[i])
		}
	}
	return b
}

// setWriteBy leaves a write at least half the write timeout. It does not set a deadline for each
// write.
func (c *conn) setWriteBy() {
	now := c.server.clock()
	if c.writeBy.Sub(now) >= c.server.http.WriteTimeout/2 {
		return
	}
	c.writeBy = now.Add(c.server.http.WriteTimeout)
	_ = c.net.SetWriteDeadline(c.writeBy) // a closed connection fails at the write
}

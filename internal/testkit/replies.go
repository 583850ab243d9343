package testkit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
)

// answer sends a JSON-RPC result or error with the request's id. members are the other members of
// the answer, without braces.
func (x *Exchange) answer(id []byte, members string) {
	x.W.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(x.W, `{"jsonrpc":"2.0","id":%s,%s}`, id, members)
}

// Result answers with a result. A json.RawMessage is sent unchanged.
func Result(value any) Reply {
	return func(x *Exchange) { x.answer(x.Request.ID, `"result":`+marshal(value)) }
}

// ResultOf answers with the result that fn returns for the request.
func ResultOf(fn func(Request) any) Reply {
	return func(x *Exchange) { x.answer(x.Request.ID, `"result":`+marshal(fn(x.Request))) }
}

// Error answers with a JSON-RPC error in an HTTP 200.
func Error(code int, message string) Reply { return ErrorWithData(code, message, nil) }

// ErrorWithData answers with a JSON-RPC error with data; nil omits the member.
func ErrorWithData(code int, message string, data any) Reply {
	return func(x *Exchange) {
		members := fmt.Sprintf(`"error":{"code":%d,"message":%s`, code, marshal(message))
		if data != nil {
			members += `,"data":` + marshal(data)
		}
		x.answer(x.Request.ID, members+"}")
	}
}

// ErrorWithStatus answers with a JSON-RPC error and another HTTP status.
func ErrorWithStatus(status, code int, message string) Reply {
	return func(x *Exchange) {
		x.W.Header().Set("Content-Type", "application/json")
		x.W.WriteHeader(status)
		Error(code, message)(x)
	}
}

// WrongID answers with a result under an id that the client did not send.
func WrongID(value any) Reply {
	return func(x *Exchange) { x.answer([]byte(`"another-id"`), `"result":`+marshal(value)) }
}

// idMark is replaced by the request's id in scripted bodies.
const idMark = "$id"

// Fill replaces $id in text with the request's id. Raw, Wire and replies that use them do so
// themselves.
func (x *Exchange) Fill(text string) string {
	return strings.ReplaceAll(text, idMark, string(x.Request.ID))
}

// Preceded answers as reply does, but first sends the answer of stray on the same connection, like
// a late answer of an earlier request. The client reads it as the answer to its request.
func Preceded(stray, reply Reply) Reply {
	return func(x *Exchange) {
		said := httptest.NewRecorder()
		through := *x
		through.W = said
		stray(&through)
		if conn, ok := x.Context.Value(connKey{}).(net.Conn); ok {
			// the client may have disconnected
			_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", said.Body.Len(), said.Body)
		}
		reply(x)
	}
}

// Raw answers with any status, content type and body; $id in the body is replaced by the request's
// id.
func Raw(status int, contentType, body string) Reply {
	return func(x *Exchange) {
		x.W.Header().Set("Content-Type", contentType)
		x.W.WriteHeader(status)
		_, _ = io.WriteString(x.W, x.Fill(body))
	}
}

// HTML answers with a page, as a proxy in front of an upstream does.
func HTML(status int) Reply {
	return Raw(status, "text/html; charset=utf-8", "<html><body><h1>"+http.StatusText(status)+"</h1></body></html>")
}

// Status answers with an HTTP status and without JSON, for example 500 or 503.
func Status(status int) Reply {
	return Raw(status, "text/plain; charset=utf-8", http.StatusText(status))
}

// TooMany answers with HTTP 429 and a Retry-After in seconds.
func TooMany(retryAfter time.Duration) Reply {
	return func(x *Exchange) {
		x.W.Header().Set("Retry-After", strconv.Itoa(int(retryAfter.Seconds())))
		ErrorWithStatus(http.StatusTooManyRequests, -32005, "too many requests")(x)
	}
}

// Redirect answers with HTTP 307, which makes a careless client send the body to the target.
func Redirect(target string) Reply {
	return func(x *Exchange) {
		x.W.Header().Set("Location", target)
		x.W.WriteHeader(http.StatusTemporaryRedirect)
	}
}

// Hang answers nothing until Release is called or the client disconnects. After Release it answers
// as then does; a nil then closes the connection.
func Hang(then Reply) Reply {
	return func(x *Exchange) {
		select {
		case <-x.Context.Done():
			return
		case <-x.server.released:
		}
		if then == nil {
			then = Reset()
		}
		then(x)
	}
}

// Reset reads the whole request and then resets the connection: the client cannot tell whether the
// request took effect. ResetConnections resets before anything is read.
func Reset() Reply {
	return func(x *Exchange) {
		if conn := x.hijack(); conn != nil {
			reset(conn)
		}
	}
}

// Wire sends raw bytes in place of an HTTP answer and closes the connection, like a server that
// violates the protocol. $id is replaced by the request's id.
func Wire(raw string) Reply {
	return func(x *Exchange) {
		if conn := x.hijack(); conn != nil {
			_, _ = io.WriteString(conn, x.Fill(raw)) // the client may have disconnected
			_ = conn.Close()
		}
	}
}

// hijack takes over the connection; it returns nil when the connection is gone.
func (x *Exchange) hijack() net.Conn {
	hijacker, ok := x.W.(http.Hijacker)
	if !ok {
		panic("the connection of a scripted upstream cannot be taken over")
	}
	conn, _, err := hijacker.Hijack()
	if err != nil {
		return nil
	}
	return conn
}

// Truncated announces a complete answer, sends half of it and closes the connection.
func Truncated() Reply {
	return func(x *Exchange) {
		body := `{"jsonrpc":"2.0","id":` + string(x.Request.ID) + `,"result":"0x` +
			string(bytes.Repeat([]byte("0"), 64)) + `"}`
		x.W.Header().Set("Content-Type", "application/json")
		x.W.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = io.WriteString(x.W, body[:len(body)/2])
		_ = http.NewResponseController(x.W).Flush()
		panic(http.ErrAbortHandler)
	}
}

// InvalidJSON answers with half of a JSON document and a matching length.
func InvalidJSON() Reply {
	return Raw(http.StatusOK, "application/json", `{"jsonrpc":"2.0","id":$id,"result":{"number":`)
}

// Large streams a string of at least the given number of bytes as the result, without holding it in
// memory.
func Large(sizeBytes int) Reply {
	return func(x *Exchange) {
		x.W.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(x.W, `{"jsonrpc":"2.0","id":%s,"result":"0x`, x.Request.ID)
		chunk := bytes.Repeat([]byte("0"), 64<<10)
		for sent := 0; sent < sizeBytes; sent += len(chunk) {
			if _, err := x.W.Write(chunk[:min(len(chunk), sizeBytes-sent)]); err != nil {
				return
			}
		}
		_, _ = io.WriteString(x.W, `"}`)
	}
}

// Stream answers with the result that write writes, without holding it in memory.
func Stream(write func(io.Writer) error) Reply {
	return func(x *Exchange) {
		x.W.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(x.W, `{"jsonrpc":"2.0","id":%s,"result":`, x.Request.ID)
		if write(x.W) == nil { // otherwise the client disconnected
			_, _ = io.WriteString(x.W, "}")
		}
	}
}

// BreakAfter streams a large result and resets the connection after the given number of bytes.
func BreakAfter(sizeBytes int) Reply {
	return func(x *Exchange) {
		x.W.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(x.W, `{"jsonrpc":"2.0","id":%s,"result":"0x`, x.Request.ID)
		_, _ = x.W.Write(bytes.Repeat([]byte("0"), sizeBytes))
		_ = http.NewResponseController(x.W).Flush()
		panic(http.ErrAbortHandler)
	}
}

// Drip answers with a result, one byte each interval.
func Drip(value any, interval time.Duration) Reply {
	return func(x *Exchange) {
		body := `{"jsonrpc":"2.0","id":` + string(x.Request.ID) + `,"result":` + marshal(value) + `}`
		x.W.Header().Set("Content-Type", "application/json")
		control := http.NewResponseController(x.W)
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for _, b := range []byte(body) {
			if _, err := x.W.Write([]byte{b}); err != nil {
				return
			}
			if err := control.Flush(); err != nil {
				return
			}
			select {
			case <-x.Context.Done():
				return
			case <-x.server.released:
				return
			case <-tick.C:
			}
		}
	}
}

// Gzip answers with a compressed result, even if the client did not ask for compression.
func Gzip(value any) Reply { return Compressed(Result(value)) }

// Compressed compresses what reply writes with gzip.
func Compressed(reply Reply) Reply {
	return func(x *Exchange) {
		x.W.Header().Set("Content-Encoding", "gzip")
		z, err := gzip.NewWriterLevel(x.W, gzip.BestSpeed)
		if err != nil {
			panic(err) // the level is valid
		}
		through := *x
		through.W = &compressing{ResponseWriter: x.W, z: z}
		reply(&through)
		_ = z.Close()
	}
}

type compressing struct {
	http.ResponseWriter
	z *gzip.Writer
}

// Write compresses p.
func (c *compressing) Write(p []byte) (int, error) { return c.z.Write(p) }

// FlushError flushes what was written so far.
func (c *compressing) FlushError() error {
	if err := c.z.Flush(); err != nil {
		return err
	}
	return http.NewResponseController(c.ResponseWriter).Flush()
}

// Encoded answers with a body and a Content-Encoding header, which may not match.
func Encoded(coding string, body []byte) Reply {
	return WithHeader("Content-Encoding", coding, Raw(http.StatusOK, "application/json", string(body)))
}

// WithHeader sets a header of the answer and then answers as reply does.
func WithHeader(name, value string, reply Reply) Reply {
	return func(x *Exchange) {
		x.W.Header().Set(name, value)
		reply(x)
	}
}

func marshal(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("a scripted answer is not JSON: %v", err))
	}
	if raw, ok := value.(json.RawMessage); ok {
		return string(raw)
	}
	return string(text)
}

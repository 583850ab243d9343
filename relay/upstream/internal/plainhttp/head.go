package plainhttp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
)

var errHead = errors.New("malformed HTTP response")

// head is what decides how the body is read.
type head struct {
	length   int64 // -1 if absent
	chunked  bool
	closes   bool
	minor    byte
	response *http.Response
}

// readHead reads the head of an answer, skips informational ones, and returns a response with its
// body (RFC 9112).
func readHead(br *bufio.Reader) (*http.Response, error) {
	for {
		h, err := readOne(br)
		if err != nil {
			return nil, err
		}
		if h.response.StatusCode >= 200 {
			return h.withBody(br), nil
		}
		if h.response.StatusCode == http.StatusSwitchingProtocols {
			return nil, errHead
		}
	}
}

func readOne(br *bufio.Reader) (h head, err error) {
	line, err := br.ReadSlice('\n')
	if err != nil {
		return head{}, unexpected(err)
	}
	line = trim(line)
	// HTTP/1.1 200 OK
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.")) || (line[7] != '0' && line[7] != '1') ||
		line[8] != ' ' ||
		(len(line) > 12 && line[12] != ' ') {
		return head{}, errHead
	}
	status, err := strconv.ParseUint(string(line[9:12]), 10, 16)
	if err != nil || status < 100 {
		return head{}, errHead
	}
	h = head{length: -1, minor: line[7], closes: line[7] == '0', response: &http.Response{
		StatusCode: int(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: int(line[7] - '0'),
	}}
	for {
		line, err := br.ReadSlice('\n')
		if err != nil {
			return head{}, unexpected(err)
		}
		if line = trim(line); len(line) == 0 {
			return h, nil
		}
		colon := bytes.IndexByte(line, ':')
		if colon < 1 || line[0] == ' ' || line[0] == '\t' || line[colon-1] == ' ' || line[colon-1] == '\t' {
			return head{}, errHead
		}
		if err := h.take(line[:colon], bytes.TrimSpace(line[colon+1:])); err != nil {
			return head{}, err
		}
	}
}

// take reads one header field. It refuses two lengths that differ and a length next to chunks: the
// answer could then end elsewhere than its sender meant.
func (h *head) take(name, value []byte) error {
	switch {
	case equalFold(name, "content-length"):
		n, err := strconv.ParseUint(string(value), 10, 63)
		if err != nil || (h.length >= 0 && h.length != int64(n)) {
			return errHead
		}
		h.length = int64(n)
	case equalFold(name, "transfer-encoding"):
		if h.chunked || h.minor == '0' || !equalFold(value, "chunked") {
			return errHead
		}
		h.chunked = true
	case equalFold(name, "connection"):
		for token := range bytes.SplitSeq(value, []byte{','}) {
			token = bytes.TrimSpace(token)
			switch {
			case equalFold(token, "close"):
				h.closes = true
			case equalFold(token, "keep-alive") && h.minor == '0':
				h.closes = false
			}
		}
	case equalFold(name, "retry-after"): // the only two headers that callers read
		h.keep("Retry-After", value)
	case equalFold(name, "content-encoding"):
		h.keep("Content-Encoding", value)
	}
	if h.chunked && h.length >= 0 {
		return errHead
	}
	return nil
}

func (h *head) keep(name string, value []byte) {
	if h.response.Header == nil {
		h.response.Header = make(http.Header, 1)
	}
	h.response.Header.Add(name, string(value))
}

func (h *head) withBody(br *bufio.Reader) *http.Response {
	r := h.response
	r.ContentLength, r.Close = h.length, h.closes
	switch {
	case r.StatusCode == http.StatusNoContent || r.StatusCode == http.StatusNotModified:
		r.ContentLength, r.Body = 0, http.NoBody
	case h.chunked:
		r.ContentLength, r.Body = -1, newChunked(br)
	case h.length >= 0:
		r.Body = &exactly{br: br, left: h.length}
	default:
		r.Close = true
		r.Body = io.NopCloser(br) // the body ends with the connection
	}
	return r
}

// exactly reads the number of bytes in Content-Length. It returns io.EOF with the last bytes, so
// that the connection is returned at once.
type exactly struct {
	br   *bufio.Reader
	left int64
}

func (e *exactly) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	if int64(len(p)) > e.left {
		p = p[:e.left]
	}
	n, err := e.br.Read(p)
	e.left -= int64(n)
	switch {
	case e.left == 0:
		return n, io.EOF
	case err != nil:
		return n, unexpected(err)
	}
	return n, nil
}

// Close leaves the connection open; it belongs to the caller.
func (e *exactly) Close() error { return nil }

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	if errors.Is(err, bufio.ErrBufferFull) {
		return errHead
	}
	return err
}

func trim(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte{'\n'})
	return bytes.TrimSuffix(line, []byte{'\r'})
}

func equalFold(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

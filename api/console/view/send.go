package view

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/klauspost/compress/gzip"

	"github.com/chainaccess/gateway/internal/assets"
)

// compressFrom is the size in bytes from which on a page is compressed; a smaller one fits in one
// packet anyway.
const compressFrom = 1400

var compressors = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed) // the level is valid
	return z
}}

// sendPage writes a page, compressed where the browser accepts that. Secrets on a page must not be
// guessable from its compressed size (BREACH), so none is the same twice: CSRF tokens are masked,
// and keys are shown once.
func sendPage(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Add("Vary", "Accept-Encoding")
	if len(body) >= compressFrom && assets.AcceptsGzip(r.Header) {
		body = compressed(body)
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error means that the client has left
}

func compressed(body []byte) []byte {
	var out bytes.Buffer
	z := compressors.Get().(*gzip.Writer) //nolint:errcheck,forcetypeassert // the pool holds nothing else
	defer compressors.Put(z)
	z.Reset(&out)
	_, _ = z.Write(body) // a bytes.Buffer never fails
	_ = z.Close()
	return out.Bytes()
}

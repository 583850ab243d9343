package api

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/chainaccess/gateway/internal/assets"
	"github.com/chainaccess/gateway/internal/fault"
)

const (
	gzipFrom = 1400 // bytes; a smaller answer fits in one packet anyway
	// A compressor holds about 830 KB, and a stream keeps its own until the client has read it.
	// When all are in use, answers are sent uncompressed.
	maxCompressing = 64
	gzipFlush      = time.Second // the longest that a slow stream is held back while more data arrives
)

var (
	gzipValue = []string{"gzip"}

	compressors = sync.Pool{New: func() any {
		z, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed) // the level is valid
		return z
	}}
	compressing   = make(chan struct{}, maxCompressing)
	zipped        = sync.Pool{New: func() any { return new(bytes.Buffer) }}
	decompressors = sync.Pool{New: func() any { return new(gzip.Reader) }}
)

// worthCompressing reports whether an answer of this size is sent compressed.
func worthCompressing(h http.Header, size int) bool { return size >= gzipFrom && assets.AcceptsGzip(h) }

// takeCompressor returns nil when maxCompressing are in use. The caller must return any other with
// giveBackCompressor.
func takeCompressor(w io.Writer) *gzip.Writer {
	select {
	case compressing <- struct{}{}:
	default:
		return nil
	}
	z := compressors.Get().(*gzip.Writer) //nolint:errcheck,forcetypeassert // the pool holds nothing else
	z.Reset(w)
	return z
}

func giveBackCompressor(z *gzip.Writer) {
	z.Reset(io.Discard)
	compressors.Put(z)
	<-compressing
}

// compress returns body compressed, in a buffer that the caller returns with giveBackZipped. It
// returns nil when compression saves nothing or all compressors are in use.
func compress(body []byte) *bytes.Buffer {
	b := zipped.Get().(*bytes.Buffer) //nolint:errcheck,forcetypeassert // the pool holds nothing else
	b.Reset()
	z := takeCompressor(b)
	if z == nil {
		giveBackZipped(b)
		return nil
	}
	defer giveBackCompressor(z)
	_, err := z.Write(body)
	if err == nil {
		err = z.Close()
	}
	if err != nil || b.Len() >= len(body) {
		giveBackZipped(b)
		return nil
	}
	return b
}

func giveBackZipped(b *bytes.Buffer) {
	if b.Cap() <= keepBuffer {
		zipped.Put(b)
	}
}

// zipper compresses a stream. Close ends the stream; without it the client sees that the answer is
// incomplete.
type zipper struct {
	*gzip.Writer
	to      *client
	flushed time.Time // zero at first, so that the beginning is sent at once
}

// newZipper returns nil when all compressors are in use. The caller must release any other.
func newZipper(to *client) *zipper {
	z := takeCompressor(to)
	if z == nil {
		return nil
	}
	return &zipper{Writer: z, to: to}
}

// Write compresses p, and flushes when the last flush was gzipFlush or more ago.
func (z *zipper) Write(p []byte) (int, error) {
	n, err := z.Writer.Write(p)
	now := z.to.now()
	if err != nil || now.Sub(z.flushed) < gzipFlush {
		return n, err
	}
	z.flushed = now
	if err := z.Flush(); err != nil {
		return n, err
	}
	return n, z.to.control.Flush()
}

func (z *zipper) release() { giveBackCompressor(z.Writer) }

// gunzip decompresses a body into buffer. Both the compressed and the decompressed size are limited
// to the limit of buffer.
func (s *server) gunzip(r *http.Request, buffer *requestBody) ([]byte, *fault.Error) {
	compressed := &io.LimitedReader{R: r.Body, N: buffer.limit + 1}
	z := decompressors.Get().(*gzip.Reader) //nolint:errcheck,forcetypeassert // the pool holds nothing else
	defer decompressors.Put(z)
	var body []byte
	var refusal *fault.Error
	err := z.Reset(compressed)
	if err == nil {
		body, refusal, err = s.readAll(z, buffer)
	}
	switch {
	case compressed.N <= 0:
		return nil, buffer.tooLarge()
	case err != nil:
		return nil, fault.New(fault.NotARequest,
			"The body is not whole gzip, as Content-Encoding says. Send it again, or send it plain.").Wrap(err)
	}
	return body, refusal
}

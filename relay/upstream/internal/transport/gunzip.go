package transport

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// errCoding reports an answer in a content coding that was not requested and is not supported.
var errCoding = errors.New("the answer has a content coding other than gzip")

var gunzippers = sync.Pool{New: func() any { return new(gzip.Reader) }}

// decode sets the answer up to be read without its content coding. Size limits then apply to the
// decoded bytes, so that a decompression bomb is detected while it grows. Reading the gzip header
// may wait for the upstream.
func (a *Answer) decode(resp *http.Response) error {
	coding := resp.Header["Content-Encoding"]
	if len(coding) == 0 {
		return nil
	}
	switch strings.ToLower(strings.Join(coding, ",")) {
	case "", "identity":
		return nil
	case "gzip", "x-gzip":
	default:
		return errCoding
	}
	z := gunzippers.Get().(*gzip.Reader) //nolint:errcheck,forcetypeassert // the pool holds these only
	a.source, a.gunzip = z, z
	if err := z.Reset(resp.Body); err != nil {
		return unexpectedEnd(err) // there is no answer in it
	}
	resp.ContentLength = -1
	return nil
}

func (a *Answer) giveBackGunzip() {
	if a.gunzip != nil {
		_ = a.gunzip.Reset(http.NoBody) // it fails, and releases the body
		gunzippers.Put(a.gunzip)
	}
}

func unexpectedEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

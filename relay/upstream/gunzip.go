package upstream

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// errCoding is told of an answer in a coding that was not asked for and is not known.
var errCoding = errors.New("the answer has a content coding other than gzip")

var gunzippers = sync.Pool{New: func() any { return new(gzip.Reader) }}

// decode has the answer read as it was before its content coding. Bounds are then of what it
// becomes, so that a small answer which becomes a huge one is found out while it grows. Beginning
// to read may wait for the upstream.
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
		_ = a.gunzip.Reset(http.NoBody) // it fails, and lets go of the body
		gunzippers.Put(a.gunzip)
	}
}

func unexpectedEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

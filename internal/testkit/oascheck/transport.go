package oascheck

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"
)

// maxBody is how much of a body is kept to be judged; of a longer one only the head is.
const maxBody = 4 << 20

// Transport sends requests through next and has every answer judged as it is read: the head when it
// came, the body at its end. A body that its reader leaves, or that breaks off, is judged by its
// head only.
func (d *Document) Transport(next http.RoundTripper, report func(error)) http.RoundTripper {
	return &transport{document: d, next: next, report: report}
}

type transport struct {
	document *Document
	next     http.RoundTripper
	report   func(error)
}

// RoundTrip is http.RoundTripper's.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	a := &Answer{Method: r.Method, URL: r.URL, Status: resp.StatusCode, Header: resp.Header, Cut: true}
	if resp.Body == nil || resp.Body == http.NoBody {
		a.Cut = false
	}
	if err := t.document.Check(a); err != nil {
		t.report(err)
		return resp, nil
	}
	if a.Cut {
		resp.Body = &watched{ReadCloser: resp.Body, answer: a, of: t}
	}
	return resp, nil
}

// CloseIdleConnections lets http.Client's reach the transport below.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// watched keeps what is read of a body.
type watched struct {
	io.ReadCloser

	answer *Answer
	of     *transport
	kept   bytes.Buffer
	long   bool
	once   sync.Once
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if w.kept.Len()+n > maxBody {
		w.long, w.kept = true, bytes.Buffer{}
	}
	if !w.long {
		w.kept.Write(p[:n])
	}
	if errors.Is(err, io.EOF) && !w.long {
		w.once.Do(func() {
			w.answer.Body, w.answer.Cut = w.kept.Bytes(), false
			if err := w.of.document.Check(w.answer); err != nil {
				w.of.report(err)
			}
		})
	}
	return n, err
}

package oascheck

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"
)

// maxBody bounds how much of a body is kept for the check; of a longer answer only status and
// headers are checked.
const maxBody = 4 << 20

// Transport sends requests through next and checks every answer when its body was read to the end.
// When the reader stops early, or the connection breaks, only status and headers are checked.
func (d *Document) Transport(next http.RoundTripper, report func(error)) http.RoundTripper {
	return &transport{document: d, next: next, report: report}
}

type transport struct {
	document *Document
	next     http.RoundTripper
	report   func(error)
}

// RoundTrip implements http.RoundTripper.
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

// CloseIdleConnections forwards http.Client's call to the next transport.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// watched collects what is read of a body.
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

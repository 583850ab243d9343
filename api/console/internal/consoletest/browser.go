package consoletest

import (
	"crypto/sha256"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/api/console/site"
)

// Answer is what a browser receives.
type Answer struct {
	Status  int
	Header  http.Header
	Cookies []*http.Cookie
	Body    string
}

// Send sends a request to the pages and returns the answer.
func Send(t *testing.T, p *site.Site, method, path string, form url.Values, header map[string]string) Answer {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(form.Encode()))
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	w := &unrouted{ResponseRecorder: httptest.NewRecorder()}
	p.ServeHTTP(w, r)
	result := w.Result()
	defer func() { _ = result.Body.Close() }() // it is in memory
	return Answer{Status: result.StatusCode, Header: result.Header, Cookies: result.Cookies(), Body: w.Body.String()}
}

// unrouted is a writer as package api passes it on: no route matched, so an answer without a status
// is a 404.
type unrouted struct {
	*httptest.ResponseRecorder

	named bool
}

func (u *unrouted) WriteHeader(status int) {
	u.named = true
	u.ResponseRecorder.WriteHeader(status)
}

func (u *unrouted) Write(body []byte) (int, error) {
	if !u.named {
		u.WriteHeader(http.StatusNotFound)
	}
	return u.ResponseRecorder.Write(body)
}

// Browser keeps cookies, and sends forms with the CSRF token of its pages.
type Browser struct {
	t       *testing.T
	Pages   *site.Site
	Cookies map[string]string
}

// SessionValue is the session of browsers that are signed in.
const SessionValue = "cags_of-the-test"

// Visitor returns a browser that is not signed in, on a site with some sections.
func Visitor(t *testing.T, h *Operations, sections ...func(*site.Site) error) *Browser {
	t.Helper()
	p := NewSite(t, "https://gateway.example", h.Calls(), sections...)
	return &Browser{t: t, Pages: p, Cookies: map[string]string{}}
}

// SignedIn returns a browser that is signed in.
func SignedIn(t *testing.T, h *Operations, sections ...func(*site.Site) error) *Browser {
	t.Helper()
	b := Visitor(t, h, sections...)
	b.Cookies["__Host-"+site.SessionCookie] = SessionValue
	return b
}

// Send sends a request as a page of the site would, and keeps the cookies of the answer.
func (b *Browser) Send(method, path string, form url.Values) Answer {
	b.t.Helper()
	header := map[string]string{"Origin": "https://gateway.example", "Sec-Fetch-Site": "same-origin"}
	for name, value := range b.Cookies {
		header["Cookie"] += name + "=" + value + "; "
	}
	got := Send(b.t, b.Pages, method, path, form, header)
	for _, c := range got.Cookies {
		if c.MaxAge < 0 {
			delete(b.Cookies, c.Name)
		} else {
			b.Cookies[c.Name] = c.Value
		}
	}
	return got
}

// Get loads a page.
func (b *Browser) Get(path string) Answer { b.t.Helper(); return b.Send(http.MethodGet, path, nil) }

// Post sends a form with the CSRF token of a page of this browser.
func (b *Browser) Post(path string, form url.Values) Answer {
	b.t.Helper()
	cookie, account := b.Cookies["__Host-"+site.SessionCookie], "a1"
	if cookie == "" {
		cookie, account = b.Cookies["__Host-"+site.VisitorCookie], ""
	}
	with := url.Values{site.TokenField: {Token(cookie, account)}}
	maps.Copy(with, form)
	return b.Send(http.MethodPost, path, with)
}

var tokenIn = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// Fill sends a form with the CSRF token of the page that this browser loaded.
func (b *Browser) Fill(page Answer, path string, form url.Values) Answer {
	b.t.Helper()
	token := tokenIn.FindStringSubmatch(page.Body)
	if token == nil {
		b.t.Fatalf("the page has no form: %s", page.Body)
	}
	with := url.Values{site.TokenField: {token[1]}}
	maps.Copy(with, form)
	return b.Send(http.MethodPost, path, with)
}

// Token returns the token of a cookie and an account ("" for none) with an empty mask.
func Token(cookie, account string) string {
	return site.CSRFToken(cookie, account, [sha256.Size]byte{})
}

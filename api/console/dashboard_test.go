package console

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// answer is what a browser receives.
type answer struct {
	status  int
	header  http.Header
	cookies []*http.Cookie
	body    string
}

// send sends a request to the pages and returns the answer.
func send(t *testing.T, p *Pages, method, path string, form url.Values, header map[string]string) answer {
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
	defer result.Body.Close()
	return answer{status: result.StatusCode, header: result.Header, cookies: result.Cookies(), body: w.Body.String()}
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

func TestResponses_CarryTheSecurityHeaders(t *testing.T) {
	t.Parallel()
	p := newPages(t, "https://gateway.example")
	for _, path := range []string{"/", "/nothing-here", assetPath(t, p, "console.css"), "/assets/none.css"} {
		h := send(t, p, http.MethodGet, path, nil, nil).header
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' " +
				"data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
			"Strict-Transport-Security": "max-age=63072000",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("%s answers %s: %q, want %q", path, name, got, want)
			}
		}
		if !strings.Contains(h.Get("Permissions-Policy"), "geolocation=()") {
			t.Errorf("%s switches off no features", path)
		}
	}
	if got := send(t, newPages(t, "http://localhost:8080"), http.MethodGet, "/", nil,
		nil).header.Get("Strict-Transport-Security"); got != "" {
		t.Errorf("over http, transport security is promised: %q", got)
	}
}

func TestPages_AreNotCacheable(t *testing.T) {
	t.Parallel()
	p := newPages(t, "https://gateway.example")
	for _, path := range []string{"/", "/nothing-here"} {
		if got := send(t, p, http.MethodGet, path, nil, nil).header.Get("Cache-Control"); got != "no-store" {
			t.Errorf("%s may be kept: %q", path, got)
		}
	}
}

func TestAssets_AreServedAtTheAddressesThatPagesName(t *testing.T) {
	t.Parallel()
	p := newPages(t, "https://gateway.example")
	for _, file := range p.assets.Files() {
		if r := send(t, p, http.MethodGet, assetPath(t, p, file.File), nil, nil); r.status != http.StatusOK ||
			r.body != string(file.Plain) {
			t.Errorf("%s answers %d, %v", file.File, r.status, r.header)
		}
	}
	if r := send(t, p, http.MethodGet, "/assets/console.000000000000.css", nil, nil); r.status != http.StatusNotFound {
		t.Errorf("another version answers %d", r.status)
	}
}

func assetPath(t *testing.T, p *Pages, file string) string {
	t.Helper()
	path, err := p.assets.Path(file)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// visited returns a browser's cookie and CSRF token after it loaded a page.
func visited(t *testing.T, p *Pages) (cookie *http.Cookie, token string) {
	t.Helper()
	r := send(t, p, http.MethodGet, "/", nil, nil)
	cookies := r.cookies
	if len(cookies) != 1 {
		t.Fatalf("the first page sets %d cookies", len(cookies))
	}
	found := regexp.MustCompile(`name="csrf" value="([^"]+)"`).FindStringSubmatch(r.body)
	if found == nil {
		t.Fatal("the first page has no token")
	}
	return cookies[0], found[1]
}

func TestCookies_VisitorsIsBoundToTheHostOverHTTPS(t *testing.T) {
	t.Parallel()
	c, _ := visited(t, newPages(t, "https://gateway.example"))
	if c.Name != "__Host-visitor" || !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" ||
		c.Domain != "" {
		t.Errorf("over https the cookie is %+v", c)
	}
	c, _ = visited(t, newPages(t, "http://localhost:8080"))
	if c.Name != "visitor" || c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode {
		t.Errorf("over http the cookie is %+v", c)
	}
}

func TestPages_AreCompressedAndTheirTokensNeverRepeat(t *testing.T) {
	t.Parallel()
	p := newPages(t, "https://gateway.example")
	cookie, _ := visited(t, p)
	carried := cookie.Name + "=" + cookie.Value
	tokenIn := regexp.MustCompile(`name="csrf" value="([^"]+)"`)
	seen := map[string]bool{}
	for range 3 {
		plain := send(t, p, http.MethodGet, "/sign-in", nil, map[string]string{"Cookie": carried})
		small := send(t, p, http.MethodGet, "/sign-in", nil, map[string]string{
			"Cookie": carried, "Accept-Encoding": "gzip",
		})
		if plain.header.Get("Content-Encoding") != "" || small.header.Get("Content-Encoding") != "gzip" ||
			!slices.Contains(small.header.Values("Vary"), "Accept-Encoding") {
			t.Fatalf("plain: %v, small: %v", plain.header, small.header)
		}
		z, err := gzip.NewReader(strings.NewReader(small.body))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(z)
		if err != nil || len(small.body) >= len(body) ||
			small.header.Get("Content-Length") != strconv.Itoa(len(small.body)) {
			t.Fatalf("%d bytes of %d, %v", len(small.body), len(body), err)
		}
		for _, page := range []string{plain.body, string(body)} {
			token := tokenIn.FindStringSubmatch(page)
			if token == nil || seen[token[1]] {
				t.Fatalf("the token %v was seen before", token)
			}
			seen[token[1]] = true
			if got := send(t, p, http.MethodPost, "/theme", url.Values{"csrf": {token[1]}, "theme": {"dark"}},
				map[string]string{"Cookie": carried}); got.status != http.StatusSeeOther {
				t.Errorf("a form with it is answered with %d", got.status)
			}
		}
	}
}

func TestCSRF_AcceptsChangesFromThisSiteOnly(t *testing.T) {
	t.Parallel()
	p := newPages(t, "https://gateway.example")
	cookie, token := visited(t, p)
	_, foreignToken := visited(t, p)
	carried := cookie.Name + "=" + cookie.Value
	for name, c := range map[string]struct {
		token  string
		header map[string]string
		want   int
	}{
		"same origin": {
			token, map[string]string{
				"Origin": "https://gateway.example", "Sec-Fetch-Site": "same-origin", "Cookie": carried,
			}, http.StatusSeeOther,
		},
		"old browser, same origin": {
			token, map[string]string{"Origin": "https://gateway.example", "Cookie": carried}, http.StatusSeeOther,
		},
		"no browser": {token, map[string]string{"Cookie": carried}, http.StatusSeeOther},
		"page without referrer": {
			token,
			map[string]string{"Origin": "null", "Sec-Fetch-Site": "same-origin", "Cookie": carried},
			http.StatusSeeOther,
		},
		"session's cookie": {
			csrfToken("s", ""), map[string]string{"Cookie": carried + "; __Host-session=s"}, http.StatusSeeOther,
		},
		"session with visitor's token": {
			token, map[string]string{"Cookie": carried + "; __Host-session=s"}, http.StatusForbidden,
		},
		"another site": {
			token, map[string]string{
				"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site", "Cookie": carried,
			}, http.StatusForbidden,
		},
		"sister host": {
			token, map[string]string{
				"Origin": "https://x.gateway.example", "Sec-Fetch-Site": "same-site", "Cookie": carried,
			}, http.StatusForbidden,
		},
		"old browser, another site": {
			token, map[string]string{"Origin": "https://evil.example", "Cookie": carried}, http.StatusForbidden,
		},
		"other scheme": {
			token, map[string]string{"Origin": "http://evil.example", "Cookie": carried}, http.StatusForbidden,
		},
		"sandboxed frame": {
			token, map[string]string{"Origin": "null", "Cookie": carried}, http.StatusForbidden,
		},
		"no token": {
			"", map[string]string{"Origin": "https://gateway.example", "Cookie": carried}, http.StatusForbidden,
		},
		"token of another browser": {
			foreignToken,
			map[string]string{"Origin": "https://gateway.example", "Cookie": carried},
			http.StatusForbidden,
		},
		"no cookie": {
			token, map[string]string{"Origin": "https://gateway.example"}, http.StatusForbidden,
		},
		"token of an empty cookie": {
			csrfToken("", ""),
			map[string]string{"Origin": "https://gateway.example", "Cookie": "__Host-visitor="},
			http.StatusForbidden,
		},
		"cookie without its prefix": {
			token,
			map[string]string{"Origin": "https://gateway.example", "Cookie": "visitor=" + cookie.Value},
			http.StatusForbidden,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := send(t, p, http.MethodPost, "/theme", url.Values{
				"csrf": {c.token}, "theme": {"dark"}, "back": {"/sign-in"},
			}, c.header)
			changed := strings.Contains(strings.Join(r.header.Values("Set-Cookie"), ";"), "__Host-theme=dark")
			if r.status != c.want || changed != (c.want == http.StatusSeeOther) {
				t.Errorf("it answers %d (changed: %t), want %d", r.status, changed, c.want)
			}
			if c.want != http.StatusSeeOther && !strings.Contains(r.body, "nothing was done") {
				t.Error("the refusal does not say that nothing was done")
			}
		})
	}
}

func TestCSRF_TokenInTheURLIsRefused(t *testing.T) {
	t.Parallel()
	p := newPages(t, "https://gateway.example")
	cookie, token := visited(t, p)
	r := send(t, p, http.MethodPost, "/theme?csrf="+token, url.Values{"theme": {"dark"}},
		map[string]string{"Cookie": cookie.Name + "=" + cookie.Value})
	if r.status != http.StatusForbidden {
		t.Errorf("it answers %d", r.status)
	}
}

func TestForms_TooLargeAreRefused(t *testing.T) {
	t.Parallel()
	p := newPages(t, "https://gateway.example")
	cookie, token := visited(t, p)
	form := url.Values{"csrf": {token}, "theme": {strings.Repeat("x", maxFormBytes)}}
	if r := send(t, p, http.MethodPost, "/theme", form, map[string]string{
		"Cookie": cookie.Name + "=" + cookie.Value,
	}); r.status != http.StatusBadRequest {
		t.Errorf("it answers %d", r.status)
	}
}

func TestTheme_IsKeptAndLeadsBack(t *testing.T) {
	t.Parallel()
	p := newPages(t, "https://gateway.example")
	cookie, token := visited(t, p)
	carried := cookie.Name + "=" + cookie.Value
	for back, want := range map[string]string{
		"/keys?x=1": "/keys?x=1", "//evil.example": "/", "https://evil.example": "/", `/\evil.example`: "/",
		"/\t/evil.example": "/", "": "/", "/" + strings.Repeat("x", longestPath): "/",
	} {
		r := send(t, p, http.MethodPost, "/theme", url.Values{"csrf": {token}, "theme": {"dark"}, "back": {back}},
			map[string]string{"Cookie": carried})
		if got := r.header.Get("Location"); got != want {
			t.Errorf("from %q it leads to %q, want %q", back, got, want)
		}
	}
	for value, want := range map[string]string{
		"dark": ` data-theme="dark"`, "light": ` data-theme="light"`,
		"auto": `<html lang="en">`, `"><script>`: `<html lang="en">`,
	} {
		r := send(t, p, http.MethodGet, "/", nil, map[string]string{"Cookie": "__Host-theme=" + value})
		if text := r.body; !strings.Contains(text, want) {
			t.Errorf("with the theme %q the page begins %q", value, text[:120])
		}
	}
	if r := send(t, p, http.MethodPost, "/theme", url.Values{"csrf": {token}, "theme": {"pink"}},
		map[string]string{"Cookie": carried}); r.status != http.StatusUnprocessableEntity {
		t.Errorf("an unknown theme answers %d", r.status)
	}
}

func TestTheme_DocumentsSwitchWithoutATokenButFromThisSiteOnly(t *testing.T) {
	t.Parallel()
	p := newPages(t, "https://gateway.example")
	from := func(site string) map[string]string { return map[string]string{"Sec-Fetch-Site": site} }
	for name, c := range map[string]struct {
		theme, back string
		header      map[string]string
		want        int
		to          string
	}{
		"a document": {
			"dark", "/docs/errors/-32005", from("same-origin"), http.StatusSeeOther, "/docs/errors/-32005",
		},
		"leads elsewhere": {"dark", "//evil.example", from("same-origin"), http.StatusSeeOther, "/"},
		"another site":    {"dark", "/docs", from("cross-site"), http.StatusForbidden, ""},
		"a sister host":   {"dark", "/docs", from("same-site"), http.StatusForbidden, ""},
		"an old browser there": {
			"dark", "/docs", map[string]string{"Origin": "https://evil.example"}, http.StatusForbidden, "",
		},
		"no theme": {"pink", "/docs", from("same-origin"), http.StatusUnprocessableEntity, ""},
	} {
		r := send(t, p, http.MethodPost, pathDocumentTheme, url.Values{"theme": {c.theme}, "back": {c.back}}, c.header)
		kept := strings.Contains(strings.Join(r.header.Values("Set-Cookie"), ";"), "__Host-theme=dark")
		if r.status != c.want || r.header.Get("Location") != c.to || kept != (c.want == http.StatusSeeOther) {
			t.Errorf("%s: it answers %d, leads to %q (kept: %t)", name, r.status, r.header.Get("Location"), kept)
		}
	}
}

func TestPages_ServeTheirOwnRoutesOnly(t *testing.T) {
	t.Parallel()
	p := newPages(t, "https://gateway.example")
	for request, want := range map[string]bool{
		"GET /": true, "HEAD /": true, "POST /theme": true, "GET /assets/x": true, "POST /": false, "GET /theme": false,
		"POST /keys": false, "GET /nothing": false,
	} {
		method, path, _ := strings.Cut(request, " ")
		if got := p.Serves(httptest.NewRequestWithContext(t.Context(), method, path, nil)); got != want {
			t.Errorf("%s is theirs: %t, want %t", request, got, want)
		}
	}
	r := send(t, p, http.MethodGet, "/nothing", nil, map[string]string{"Accept": "text/html"})
	if text := r.body; r.status != http.StatusNotFound || !strings.Contains(text, "There is no such page") {
		t.Errorf("an unknown page answers %d: %s", r.status, text)
	}
}

func TestFirstPage_ShowsHowToGetAKeyHere(t *testing.T) {
	t.Parallel()
	text := send(t, newPages(t, "https://gateway.example"), http.MethodGet, "/", nil, nil).body
	for _, want := range []string{
		"curl -X POST https://gateway.example/keys", "https://gateway.example/rpc/eth_mainnet",
		`href="/docs/quickstart"`, `href="/sign-in"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not show %q", want)
		}
	}
}

func TestStart_FailsOnInvalidAddresses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "gateway.example", "/x", "http://%zz"} {
		if _, err := New(Options{PublicURL: address, Secret: testSecret}); err == nil {
			t.Errorf("%q is taken", address)
		}
	}
}

// Only tokens define colours, and nothing is loaded from other hosts.
func TestAssets_StayWithinDesignTokensAndThisHost(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("assets/*")
	if err != nil || len(files) < 3 {
		t.Fatalf("assets: %v, %v", files, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := string(content)
		if file == "assets/console.css" {
			_, text, _ = strings.Cut(text, "/* Ground */")
			if text == "" {
				t.Fatal("the style sheet's tokens do not end where they should")
			}
			if found := regexp.MustCompile(`#[0-9a-fA-F]{3,8}\b`).FindString(text); found != "" {
				t.Errorf("%s has the colour %s outside the tokens", file, found)
			}
		}
		if found := regexp.MustCompile(`(https?:)?//[a-z][^\s"')]*|@import|url\(`).FindString(strings.ReplaceAll(text,
			"http://www.w3.org/2000/svg", "")); found != "" && file != "assets/icon.svg" {
			t.Errorf("%s names %q", file, found)
		}
	}
}

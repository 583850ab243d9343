package console

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

func TestResponses_CarryTheSecurityHeaders(t *testing.T) {
	t.Parallel()
	p := consoletest.NewSite(t, "https://gateway.example", consoletest.NewOperations().Calls(), register)
	for _, path := range []string{"/", "/nothing-here", assetPath(t, "console.css"), "/assets/none.css"} {
		h := consoletest.Send(t, p, http.MethodGet, path, nil, nil).Header
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' " +
				"data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
			"Strict-Transport-Security": "max-age=63072000",
		} {
			t.Run(name, func(t *testing.T) {
				if got := h.Get(name); got != want {
					t.Errorf("%s answers %s: %q, want %q", path, name, got, want)
				}
			})
		}
		if !strings.Contains(h.Get("Permissions-Policy"), "geolocation=()") {
			t.Errorf("%s switches off no features", path)
		}
	}
	if got := consoletest.Send(t, consoletest.NewSite(t, "http://localhost:8080", consoletest.NewOperations().Calls(),
		register), http.MethodGet, "/", nil,
		nil).Header.Get("Strict-Transport-Security"); got != "" {
		t.Errorf("over http, transport security is promised: %q", got)
	}
}

func TestPages_AreNotCacheable(t *testing.T) {
	t.Parallel()
	p := consoletest.NewSite(t, "https://gateway.example", consoletest.NewOperations().Calls(), register)
	for _, path := range []string{"/", "/nothing-here"} {
		if got := consoletest.Send(t, p, http.MethodGet, path, nil,
			nil).Header.Get("Cache-Control"); got != "no-store" {
			t.Errorf("%s may be kept: %q", path, got)
		}
	}
}

func TestAssets_AreServedAtTheAddressesThatPagesName(t *testing.T) {
	t.Parallel()
	p := consoletest.NewSite(t, "https://gateway.example", consoletest.NewOperations().Calls(), register)
	files, err := view.Assets()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files.Files() {
		if r := consoletest.Send(t, p, http.MethodGet, assetPath(t, file.File), nil, nil); r.Status != http.StatusOK ||
			r.Body != string(file.Plain) {
			t.Errorf("%s answers %d, %v", file.File, r.Status, r.Header)
		}
	}
	if r := consoletest.Send(t, p, http.MethodGet, "/assets/console.000000000000.css", nil,
		nil); r.Status != http.StatusNotFound {
		t.Errorf("another version answers %d", r.Status)
	}
}

func assetPath(t *testing.T, file string) string {
	t.Helper()
	files, err := view.Assets()
	if err != nil {
		t.Fatal(err)
	}
	path, err := files.Path(file)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// visited returns a browser's cookie and CSRF token after it loaded a page.
func visited(t *testing.T, p *site.Site) (cookie *http.Cookie, token string) {
	t.Helper()
	r := consoletest.Send(t, p, http.MethodGet, "/", nil, nil)
	cookies := r.Cookies
	if len(cookies) != 1 {
		t.Fatalf("the first page sets %d cookies", len(cookies))
	}
	found := regexp.MustCompile(`name="csrf" value="([^"]+)"`).FindStringSubmatch(r.Body)
	if found == nil {
		t.Fatal("the first page has no token")
	}
	return cookies[0], found[1]
}

func TestCookies_VisitorsIsBoundToTheHostOverHTTPS(t *testing.T) {
	t.Parallel()
	c, _ := visited(t, consoletest.NewSite(t, "https://gateway.example", consoletest.NewOperations().Calls(), register))
	in := expect.In(t, "over https the cookie")
	expect.Equal(in, c.Name, "__Host-visitor")
	expect.True(in, c.Secure)
	expect.True(in, c.HttpOnly)
	expect.Equal(in, c.SameSite, http.SameSiteLaxMode)
	expect.Equal(in, c.Path, "/")
	expect.Equal(in, c.Domain, "")
	c, _ = visited(t, consoletest.NewSite(t, "http://localhost:8080", consoletest.NewOperations().Calls(), register))
	in = expect.In(t, "over http the cookie")
	expect.Equal(in, c.Name, "visitor")
	expect.False(in, c.Secure)
	expect.True(in, c.HttpOnly)
	expect.Equal(in, c.SameSite, http.SameSiteLaxMode)
}

func TestPages_AreCompressedAndTheirTokensNeverRepeat(t *testing.T) {
	t.Parallel()
	p := consoletest.NewSite(t, "https://gateway.example", consoletest.NewOperations().Calls(), register)
	cookie, _ := visited(t, p)
	carried := cookie.Name + "=" + cookie.Value
	tokenIn := regexp.MustCompile(`name="csrf" value="([^"]+)"`)
	seen := map[string]bool{}
	for range 3 {
		plain := consoletest.Send(t, p, http.MethodGet, "/sign-in", nil, map[string]string{"Cookie": carried})
		small := consoletest.Send(t, p, http.MethodGet, "/sign-in", nil, map[string]string{
			"Cookie": carried, "Accept-Encoding": "gzip",
		})
		in := expect.In(t, "plain")
		require.Equal(in, plain.Header.Get("Content-Encoding"), "")
		require.Equal(in, small.Header.Get("Content-Encoding"), "gzip")
		require.True(in, slices.Contains(small.Header.Values("Vary"), "Accept-Encoding"))
		z, err := gzip.NewReader(strings.NewReader(small.Body))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(z)
		require.NoError(t, err)
		require.Less(t, len(small.Body), len(body), small.Body)
		require.Equal(t, small.Header.Get("Content-Length"), strconv.Itoa(len(small.Body)))
		for _, page := range []string{plain.Body, string(body)} {
			token := tokenIn.FindStringSubmatch(page)
			if token == nil || seen[token[1]] {
				t.Fatalf("the token %v was seen before", token)
			}
			seen[token[1]] = true
			if got := consoletest.Send(t, p, http.MethodPost, "/theme",
				url.Values{"csrf": {token[1]}, "theme": {"dark"}},
				map[string]string{"Cookie": carried}); got.Status != http.StatusSeeOther {
				t.Errorf("a form with it is answered with %d", got.Status)
			}
		}
	}
}

func TestCSRF_AcceptsChangesFromThisSiteOnly(t *testing.T) {
	t.Parallel()
	p := consoletest.NewSite(t, "https://gateway.example", consoletest.NewOperations().Calls(), register)
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
			consoletest.Token("s", ""),
			map[string]string{"Cookie": carried + "; __Host-session=s"},
			http.StatusSeeOther,
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
			consoletest.Token("", ""),
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
			r := consoletest.Send(t, p, http.MethodPost, "/theme", url.Values{
				"csrf": {c.token}, "theme": {"dark"}, "back": {"/sign-in"},
			}, c.header)
			changed := strings.Contains(strings.Join(r.Header.Values("Set-Cookie"), ";"), "__Host-theme=dark")
			if r.Status != c.want || changed != (c.want == http.StatusSeeOther) {
				t.Errorf("it answers %d (changed: %t), want %d", r.Status, changed, c.want)
			}
			if c.want != http.StatusSeeOther && !strings.Contains(r.Body, "nothing was done") {
				t.Error("the refusal does not say that nothing was done")
			}
		})
	}
}

func TestCSRF_TokenInTheURLIsRefused(t *testing.T) {
	t.Parallel()
	p := consoletest.NewSite(t, "https://gateway.example", consoletest.NewOperations().Calls(), register)
	cookie, token := visited(t, p)
	r := consoletest.Send(t, p, http.MethodPost, "/theme?csrf="+token, url.Values{"theme": {"dark"}},
		map[string]string{"Cookie": cookie.Name + "=" + cookie.Value})
	if r.Status != http.StatusForbidden {
		t.Errorf("it answers %d", r.Status)
	}
}

func TestForms_TooLargeAreRefused(t *testing.T) {
	t.Parallel()
	p := consoletest.NewSite(t, "https://gateway.example", consoletest.NewOperations().Calls(), register)
	cookie, token := visited(t, p)
	form := url.Values{"csrf": {token}, "theme": {strings.Repeat("x", site.MaxFormBytes)}}
	if r := consoletest.Send(t, p, http.MethodPost, "/theme", form, map[string]string{
		"Cookie": cookie.Name + "=" + cookie.Value,
	}); r.Status != http.StatusBadRequest {
		t.Errorf("it answers %d", r.Status)
	}
}

func TestTheme_IsKeptAndLeadsBack(t *testing.T) {
	t.Parallel()
	p := consoletest.NewSite(t, "https://gateway.example", consoletest.NewOperations().Calls(), register)
	cookie, token := visited(t, p)
	carried := cookie.Name + "=" + cookie.Value
	for back, want := range map[string]string{
		"/keys?x=1": "/keys?x=1", "//evil.example": "/", "https://evil.example": "/", `/\evil.example`: "/",
		"/\t/evil.example": "/", "": "/", "/" + strings.Repeat("x", paths.MaxLength): "/",
	} {
		t.Run(back, func(t *testing.T) {
			r := consoletest.Send(t, p, http.MethodPost, "/theme",
				url.Values{"csrf": {token}, "theme": {"dark"}, "back": {back}},
				map[string]string{"Cookie": carried})
			if got := r.Header.Get("Location"); got != want {
				t.Errorf("from %q it leads to %q, want %q", back, got, want)
			}
		})
	}
	for value, want := range map[string]string{
		"dark": ` data-theme="dark"`, "light": ` data-theme="light"`,
		"auto": `<html lang="en">`, `"><script>`: `<html lang="en">`,
	} {
		t.Run(value, func(t *testing.T) {
			r := consoletest.Send(t, p, http.MethodGet, "/", nil, map[string]string{"Cookie": "__Host-theme=" + value})
			if text := r.Body; !strings.Contains(text, want) {
				t.Errorf("with the theme %q the page begins %q", value, text[:120])
			}
		})
	}
	if r := consoletest.Send(t, p, http.MethodPost, "/theme", url.Values{"csrf": {token}, "theme": {"pink"}},
		map[string]string{"Cookie": carried}); r.Status != http.StatusUnprocessableEntity {
		t.Errorf("an unknown theme answers %d", r.Status)
	}
}

func TestTheme_DocumentsSwitchWithoutATokenButFromThisSiteOnly(t *testing.T) {
	t.Parallel()
	p := consoletest.NewSite(t, "https://gateway.example", consoletest.NewOperations().Calls(), register)
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
		t.Run(name, func(t *testing.T) {
			r := consoletest.Send(t, p, http.MethodPost, "/docs/theme",
				url.Values{"theme": {c.theme}, "back": {c.back}},
				c.header)
			kept := strings.Contains(strings.Join(r.Header.Values("Set-Cookie"), ";"), "__Host-theme=dark")
			in := expect.In(t, "%s", name)
			expect.Equal(in, r.Status, c.want)
			expect.Equal(in, r.Header.Get("Location"), c.to)
			expect.Equal(in, kept, c.want == http.StatusSeeOther)
		})
	}
}

func TestPages_ServeTheirOwnRoutesOnly(t *testing.T) {
	t.Parallel()
	p := consoletest.NewSite(t, "https://gateway.example", consoletest.NewOperations().Calls(), register)
	for request, want := range map[string]bool{
		"GET /": true, "HEAD /": true, "POST /theme": true, "GET /assets/x": true, "POST /": false, "GET /theme": false,
		"POST /keys": false, "GET /nothing": false,
	} {
		t.Run(request, func(t *testing.T) {
			method, path, _ := strings.Cut(request, " ")
			if got := p.Serves(httptest.NewRequestWithContext(t.Context(), method, path, nil)); got != want {
				t.Errorf("%s is theirs: %t, want %t", request, got, want)
			}
		})
	}
	r := consoletest.Send(t, p, http.MethodGet, "/nothing", nil, map[string]string{"Accept": "text/html"})
	if text := r.Body; r.Status != http.StatusNotFound || !strings.Contains(text, "There is no such page") {
		t.Errorf("an unknown page answers %d: %s", r.Status, text)
	}
}

func TestFirstPage_ShowsHowToGetAKeyHere(t *testing.T) {
	t.Parallel()
	text := consoletest.Send(t, consoletest.NewSite(t, "https://gateway.example", consoletest.NewOperations().Calls(),
		register), http.MethodGet, "/", nil, nil).Body
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
		if _, err := New(site.Options{PublicURL: address, Secret: consoletest.TestSecret}); err == nil {
			t.Errorf("%q is taken", address)
		}
	}
}

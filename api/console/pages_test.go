package console

import (
	"crypto/rand"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/html"
)

// testSecret is the tests' secret for sealing.
var testSecret = []byte("a secret of the tests, 32 bytes or more")

// parsed is shared, because parsing templates takes most of a test's time.
var parsed = sync.OnceValues(func() (*Pages, error) {
	return New(Options{PublicURL: "https://gateway.example", Secret: testSecret})
})

func newPages(t *testing.T, publicURL string) *Pages {
	t.Helper()
	read, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	p, err := assemble(Options{
		PublicURL: publicURL, Now: func() time.Time { return sampleNow }, Random: rand.Reader,
		Logger: slog.New(slog.DiscardHandler), Calls: newHouse().calls(), Secret: testSecret,
		Network: func(*http.Request) netip.Prefix { return netip.MustParsePrefix("203.0.113.7/32") },
	}, read.assets, read.templates)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// document renders a page as it is sent, for a signed-in person unless the page is public.
func document(t *testing.T, p *Pages, content page) string {
	t.Helper()
	w := httptest.NewRecorder()
	f := frame{
		Theme: themeDark, Token: "token", Path: "/keys?x=" + hostile, Person: samplePerson(),
		Notices: []notice{{Tone: good, Title: "Saved", Text: hostile}},
	}
	if err := p.templates.render(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody),
		http.StatusOK, f, content); err != nil {
		t.Fatal(err)
	}
	return w.Body.String()
}

func parse(t *testing.T, text string) *html.Node {
	t.Helper()
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func attribute(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

// elements returns the elements with one of the names, in document order.
func elements(root *html.Node, names ...string) []*html.Node {
	var found []*html.Node
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && (len(names) == 0 || slices.Contains(names, n.Data)) {
			found = append(found, n)
		}
	}
	return found
}

func text(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.TrimSpace(b.String())
}

// each runs a check on every page with hostile content.
func each(t *testing.T, check func(t *testing.T, root *html.Node)) {
	t.Helper()
	p := newPages(t, "https://gateway.example")
	for name, content := range samples(hostile) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, parse(t, document(t, p, content)))
		})
	}
}

func TestPages_NamesChosenByPeopleNeverBecomeMarkup(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, root *html.Node) {
		for _, n := range elements(root) {
			if n.Data == "img" || n.Data == "script" && len(n.Attr) != 2 {
				t.Errorf("the page has an element <%s> %v that no template wrote", n.Data, n.Attr)
			}
			for _, a := range n.Attr {
				if strings.HasPrefix(a.Key, "on") {
					t.Errorf("<%s> has a handler %s=%q", n.Data, a.Key, a.Val)
				}
			}
		}
	})
}

func TestPages_ObeyTheirContentSecurityPolicy(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, root *html.Node) {
		for _, n := range elements(root) {
			if _, ok := attribute(n, "style"); ok || n.Data == "style" || n.Data == "iframe" {
				t.Errorf("<%s> has a style of its own or is a frame; the policy forbids both", n.Data)
			}
			if source, ok := attribute(n, "src"); n.Data == "script" &&
				(!ok || n.FirstChild != nil || !strings.HasPrefix(source, assetsPath)) {
				t.Errorf("a script is inline or from elsewhere: %q", source)
			}
			for _, name := range []string{"href", "src", "action", "formaction"} {
				to, ok := attribute(n, name)
				if rel, _ := attribute(n, "rel"); rel == "noreferrer" && to == checkoutURL {
					continue // the only page that links to the payment provider
				}
				if ok && !strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "#") {
					t.Errorf("<%s %s=%q> leads to another host", n.Data, name, to)
				}
			}
		}
	})
}

func TestPages_EveryInputHasALabel(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, root *html.Node) {
		labelled := map[string]bool{}
		for _, n := range elements(root, "label") {
			if id, ok := attribute(n, "for"); ok && text(n) != "" {
				labelled[id] = true
			}
		}
		for _, n := range elements(root, "input", "select", "textarea") {
			kind, _ := attribute(n, "type")
			id, _ := attribute(n, "id")
			if label, _ := attribute(n, "aria-label"); kind != "hidden" && label == "" && !labelled[id] {
				t.Errorf("<%s %v> has no label", n.Data, n.Attr)
			}
		}
		for _, n := range elements(root, "button", "a") {
			if text(n) == "" {
				t.Errorf("<%s %v> says nothing", n.Data, n.Attr)
			}
		}
	})
}

func TestPages_HaveOneHeadingAndTheirLandmarks(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, root *html.Node) {
		for name, want := range map[string]int{"h1": 1, "main": 1, "header": 1, "footer": 1, "head > title": 1} {
			within := root
			if rest, ok := strings.CutPrefix(name, "head > "); ok {
				within, name = elements(root, "head")[0], rest
			}
			if got := len(elements(within, name)); got != want {
				t.Errorf("the page has %d <%s>, want %d", got, name, want)
			}
		}
		named := map[string]bool{}
		for _, n := range elements(root, "nav") {
			label, _ := attribute(n, "aria-label")
			if label == "" || named[label] {
				t.Errorf("a <nav> is named %q; names tell them apart", label)
			}
			named[label] = true
		}
		if first := elements(root, "a")[0]; text(first) != "Skip to content" {
			t.Errorf("the first link is %q, not the one past the frame", text(first))
		}
	})
}

func TestPages_IDsAreUniqueAndReferencesResolve(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, root *html.Node) {
		ids := map[string]bool{}
		for _, n := range elements(root) {
			if id, ok := attribute(n, "id"); ok {
				if id == "" || ids[id] {
					t.Errorf("the id %q stands twice or is empty", id)
				}
				ids[id] = true
			}
		}
		for _, n := range elements(root) {
			for _, name := range []string{"for", "aria-labelledby", "aria-describedby", "list", "data-copy", "href"} {
				value, _ := attribute(n, name)
				if name == "href" {
					if !strings.HasPrefix(value, "#") {
						continue
					}
					value = value[1:]
				}
				for id := range strings.FieldsSeq(value) {
					if !ids[id] {
						t.Errorf("<%s %s=%q> names an id that is not there", n.Data, name, id)
					}
				}
			}
		}
	})
}

func TestPages_EveryChangingFormCarriesTheToken(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, root *html.Node) {
		for _, form := range elements(root, "form") {
			carried := false
			for _, input := range elements(form, "input") {
				name, _ := attribute(input, "name")
				value, _ := attribute(input, "value")
				carried = carried || name == tokenField && value == "token"
			}
			if method, _ := attribute(form, "method"); method == "post" && !carried {
				t.Errorf("<form %v> carries no token", form.Attr)
			}
		}
	})
}

func TestSamples_MatchPagesOneToOne(t *testing.T) {
	t.Parallel()
	shown := map[string]bool{}
	for _, content := range samples("x") {
		shown[content.head().Template] = true
	}
	for name := range newPages(t, "https://gateway.example").templates.pages {
		if !shown[name] {
			t.Errorf("no sample shows the page %s, so no test looks at it", name)
		}
	}
}

const maxPageBytes = 150 << 10

func TestPages_AreSmallWithAllTheirAssets(t *testing.T) {
	t.Parallel()
	p := newPages(t, "https://gateway.example")
	for name, content := range samples(long) {
		body := document(t, p, content)
		size := len(body)
		for _, n := range elements(parse(t, body), "script", "link") {
			for _, attr := range []string{"src", "href"} {
				if to, ok := attribute(n, attr); ok {
					answer := send(t, p, http.MethodGet, to, nil, nil)
					if answer.status != http.StatusOK {
						t.Fatalf("%s asks for %s, which is not served", name, to)
					}
					size += len(answer.body)
				}
			}
		}
		if size > maxPageBytes {
			t.Errorf("%s has %d bytes with its assets, want at most %d", name, size, maxPageBytes)
		}
	}
}

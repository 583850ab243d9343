package consoletest

import (
	"crypto/rand"
	"embed"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
)

// TestSecret is the tests' secret for sealing.
var TestSecret = []byte("a secret of the tests, 32 bytes or more")

// NewSite returns a site with the pages of some sections.
func NewSite(t *testing.T, publicURL string, calls site.Calls, sections ...func(*site.Site) error) *site.Site {
	t.Helper()
	p, err := site.New(site.Options{
		PublicURL: publicURL, Now: func() time.Time { return Now }, Random: rand.Reader,
		Logger: slog.New(slog.DiscardHandler), Calls: calls, Secret: TestSecret,
		Network: func(*http.Request) netip.Prefix { return netip.MustParsePrefix("203.0.113.7/32") },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range sections {
		if err := section(p); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// Document renders a page as it is sent, for a signed-in person unless the page is public.
func Document(t *testing.T, pages view.Templates, content view.Page) string {
	t.Helper()
	w := httptest.NewRecorder()
	f := view.Frame{
		Theme: view.ThemeDark, Token: "token", Path: "/keys?x=" + Hostile, Person: samplePerson(),
		Notices: []view.Notice{{Tone: view.Good, Title: "Saved", Text: Hostile}},
	}
	if err := pages.Render(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody),
		http.StatusOK, f, content); err != nil {
		t.Fatal(err)
	}
	return w.Body.String()
}

// rules are what every page keeps to.
var rules = map[string]func(t *testing.T, root *html.Node){
	"names chosen by people never become markup": checkMarkup,
	"the content security policy is obeyed":      checkPolicy,
	"every input has a label":                    checkLabels,
	"one heading, and landmarks":                 checkLandmarks,
	"ids are unique, references resolve":         checkIDs,
	"every changing form carries the token":      checkForms,
}

// CheckSection checks the pages of a section's templates; see checkPages.
func CheckSection(t *testing.T, section embed.FS, samples func(name string) map[string]view.Page) {
	t.Helper()
	pages, err := view.ParsePages(section)
	if err != nil {
		t.Fatal(err)
	}
	CheckPages(t, pages, samples)
}

// CheckPages checks pages by their samples, which have a name that somebody chose. Every page needs
// a sample.
func CheckPages(t *testing.T, pages view.Templates, samples func(name string) map[string]view.Page) {
	t.Helper()
	for name, content := range samples(Hostile) {
		root := Parse(t, Document(t, pages, content))
		for rule, check := range rules {
			t.Run(name+": "+rule, func(t *testing.T) { t.Parallel(); check(t, root) })
		}
	}
	shown := map[string]bool{}
	for name, content := range samples(Long) {
		shown[content.Head().Template] = true
		checkSize(t, name, Document(t, pages, content))
	}
	for name := range pages {
		if !shown[name] {
			t.Errorf("no sample shows the page %s, so no test looks at it", name)
		}
	}
}

// checkMarkup checks that names chosen by people never become markup.
func checkMarkup(t *testing.T, root *html.Node) {
	t.Helper()
	for _, n := range Elements(root) {
		if n.Data == "img" || n.Data == "script" && len(n.Attr) != 2 {
			t.Errorf("the page has an element <%s> %v that no template wrote", n.Data, n.Attr)
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") {
				t.Errorf("<%s> has a handler %s=%q", n.Data, a.Key, a.Val)
			}
		}
	}
}

// checkPolicy checks that a page obeys its content security policy.
func checkPolicy(t *testing.T, root *html.Node) {
	t.Helper()
	for _, n := range Elements(root) {
		if _, ok := Attribute(n, "style"); ok || n.Data == "style" || n.Data == "iframe" {
			t.Errorf("<%s> has a style of its own or is a frame; the policy forbids both", n.Data)
		}
		if source, ok := Attribute(n, "src"); n.Data == "script" &&
			(!ok || n.FirstChild != nil || !strings.HasPrefix(source, view.AssetsPath)) {
			t.Errorf("a script is inline or from elsewhere: %q", source)
		}
		for _, name := range []string{"href", "src", "action", "formaction"} {
			to, ok := Attribute(n, name)
			if rel, _ := Attribute(n, "rel"); rel == "noreferrer" && to == CheckoutURL {
				continue // the only page that links to the payment provider
			}
			if ok && !strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "#") {
				t.Errorf("<%s %s=%q> leads to another host", n.Data, name, to)
			}
		}
	}
}

// checkLabels checks that every input has a label, and that buttons and links have a text.
func checkLabels(t *testing.T, root *html.Node) {
	t.Helper()
	labelled := map[string]bool{}
	for _, n := range Elements(root, "label") {
		if id, ok := Attribute(n, "for"); ok && Text(n) != "" {
			labelled[id] = true
		}
	}
	for _, n := range Elements(root, "input", "select", "textarea") {
		kind, _ := Attribute(n, "type")
		id, _ := Attribute(n, "id")
		if label, _ := Attribute(n, "aria-label"); kind != "hidden" && label == "" && !labelled[id] {
			t.Errorf("<%s %v> has no label", n.Data, n.Attr)
		}
	}
	for _, n := range Elements(root, "button", "a") {
		if Text(n) == "" {
			t.Errorf("<%s %v> says nothing", n.Data, n.Attr)
		}
	}
}

// checkLandmarks checks that a page has one heading and its landmarks.
func checkLandmarks(t *testing.T, root *html.Node) {
	t.Helper()
	for name, want := range map[string]int{"h1": 1, "main": 1, "header": 1, "footer": 1, "head > title": 1} {
		within := root
		if rest, ok := strings.CutPrefix(name, "head > "); ok {
			within, name = Elements(root, "head")[0], rest
		}
		if got := len(Elements(within, name)); got != want {
			t.Errorf("the page has %d <%s>, want %d", got, name, want)
		}
	}
	named := map[string]bool{}
	for _, n := range Elements(root, "nav") {
		label, _ := Attribute(n, "aria-label")
		if label == "" || named[label] {
			t.Errorf("a <nav> is named %q; names tell them apart", label)
		}
		named[label] = true
	}
	if first := Elements(root, "a")[0]; Text(first) != "Skip to content" {
		t.Errorf("the first link is %q, not the one past the frame", Text(first))
	}
}

// checkIDs checks that ids are unique and references resolve.
func checkIDs(t *testing.T, root *html.Node) {
	t.Helper()
	ids := map[string]bool{}
	for _, n := range Elements(root) {
		if id, ok := Attribute(n, "id"); ok {
			if id == "" || ids[id] {
				t.Errorf("the id %q stands twice or is empty", id)
			}
			ids[id] = true
		}
	}
	for _, n := range Elements(root) {
		for _, name := range []string{"for", "aria-labelledby", "aria-describedby", "list", "data-copy", "href"} {
			value, _ := Attribute(n, name)
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
}

// checkForms checks that every form that changes something carries the token.
func checkForms(t *testing.T, root *html.Node) {
	t.Helper()
	for _, form := range Elements(root, "form") {
		carried := false
		for _, input := range Elements(form, "input") {
			name, _ := Attribute(input, "name")
			value, _ := Attribute(input, "value")
			carried = carried || name == site.TokenField && value == "token"
		}
		if method, _ := Attribute(form, "method"); method == "post" && !carried {
			t.Errorf("<form %v> carries no token", form.Attr)
		}
	}
}

const maxPageBytes = 150 << 10

// checkSize checks that a page is small with all its assets.
func checkSize(t *testing.T, name, body string) {
	t.Helper()
	assets, err := view.Assets()
	if err != nil {
		t.Fatal(err)
	}
	size := len(body)
	for _, n := range Elements(Parse(t, body), "script", "link") {
		for _, attr := range []string{"src", "href"} {
			to, ok := Attribute(n, attr)
			if !ok {
				continue
			}
			w := httptest.NewRecorder()
			if !assets.Serve(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, to, http.NoBody),
				path.Base(to)) {
				t.Fatalf("%s asks for %s, which is not served", name, to)
			}
			size += w.Body.Len()
		}
	}
	if size > maxPageBytes {
		t.Errorf("%s has %d bytes with its assets, want at most %d", name, size, maxPageBytes)
	}
}

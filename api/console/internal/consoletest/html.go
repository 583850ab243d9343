package consoletest

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// ByID returns an element of a page by id.
func ByID(t *testing.T, root *html.Node, id string) *html.Node {
	t.Helper()
	for _, n := range Elements(root) {
		if got, _ := Attribute(n, "id"); got == id {
			return n
		}
	}
	t.Fatalf("the page has no #%s", id)
	return nil
}

// Parse parses a page.
func Parse(t *testing.T, text string) *html.Node {
	t.Helper()
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// Attribute returns an attribute of an element, and reports whether there is one.
func Attribute(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

// Elements returns the elements with one of the names, in document order.
func Elements(root *html.Node, names ...string) []*html.Node {
	var found []*html.Node
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && (len(names) == 0 || slices.Contains(names, n.Data)) {
			found = append(found, n)
		}
	}
	return found
}

// Text returns the text of an element.
func Text(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.TrimSpace(b.String())
}

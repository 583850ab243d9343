package api_test

import (
	"fmt"
	"html"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/service"
)

// The tools on the page and in the guide must match the server's.
func TestTools_ListedInDocumentsAreTheServers(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	page, guide := read(g, "/docs/agents").Body, read(g, "/skill.md").Body
	_, tools, listed := strings.Cut(page, `id="key-free"`)
	free, keyed, found := strings.Cut(tools, `id="keyed"`)
	if !listed || !found {
		t.Fatal("the page does not tell the tools apart")
	}
	for _, tool := range g.Tools {
		row := `<code>` + tool.Name + `</code></th><td>` + html.EscapeString(tool.Purpose) + `</td>`
		if strings.Contains(free, row) != tool.KeyFree || strings.Contains(keyed, row) == tool.KeyFree {
			t.Errorf("%s (without a key: %t) is not where it belongs", tool.Name, tool.KeyFree)
		}
	}
	in := expect.In(t, "the page lists other tools, or counts them otherwise")
	expect.NotEmpty(in, g.Tools)
	expect.Equal(in, strings.Count(page, "<tr><th scope=\"row\"><code>"), len(g.Tools), page)
	expect.Contains(in, page, fmt.Sprintf(": %d tools for", len(g.Tools)))
	named := func(free bool) string {
		var names []string
		for _, tool := range g.Tools {
			if tool.KeyFree == free {
				names = append(names, "`"+tool.Name+"`")
			}
		}
		return strings.Join(names, ", ")
	}
	if want := "Without a key: " + named(true) + ". With one: " + named(false) + "."; !strings.Contains(guide, want) {
		t.Errorf("the guide lacks %q", want)
	}
	for _, text := range []string{
		"https://gateway.example/mcp", "version " + service.InterfaceVersion, "60 requests a minute",
	} {
		if !strings.Contains(page, text) || !strings.Contains(guide, text) {
			t.Errorf("page or guide lacks %q", text)
		}
	}
}

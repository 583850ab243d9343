package pages

import (
	"slices"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

// Every reason of the table must have a complete text.
func TestErrorPages_ExplainEveryReason(t *testing.T) {
	t.Parallel()
	for _, e := range fault.Table() {
		a, ok := advised[e.Reason]
		in := expect.In(t, "%s (%d)", e.Name, e.Code)
		require.True(in, ok)
		expect.NotEqual(in, a.Why, "")
		expect.NotEqual(in, retries[a.Does], "")
		expect.NotEqual(in, handled[a.Does], "")
		if a.Does == wait != slices.Contains([]int{429, 500, 502, 503, 504}, e.HTTP) && a.Does != stop {
			t.Errorf("%s comes with HTTP %d, and its page says %q", e.Name, e.HTTP, retries[a.Does])
		}
	}
	if len(advised) != len(fault.Table()) {
		t.Errorf("%d reasons are told of %d", len(advised), len(fault.Table()))
	}
}

func TestErrorPages_HaveSnippetsForTheThreeClients(t *testing.T) {
	t.Parallel()
	for _, code := range Codes() {
		e, err := errorCodeOf(code, "https://gateway.example")
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, s := range e.Snippets {
			ids = append(ids, s.ID)
			in := expect.In(t, "%d in %s is\n%s", code, s.What, s.Text)
			expect.Contains(in, s.Text, "https://gateway.example/")
			expect.NotContains(in, s.Text, "<<")
			expect.NotContains(in, s.Text, "<no value>")
			if strings.HasPrefix(s.Text, "import") && !strings.Contains(s.Text, e.number()) {
				t.Errorf("%d in %s does not look for its code", code, s.What)
			}
		}
		want := []string{"curl", "viem", "ethers"}
		if !e.Relayed() {
			want = []string{"curl", "javascript"}
		}
		if !slices.Equal(ids, want) {
			t.Errorf("%d is told in %v", code, ids)
		}
		for _, part := range []string{`"code": ` + e.number(), exampleID, "/support/new?request_id="} {
			if !strings.Contains(e.Example, part) {
				t.Errorf("the example of %d lacks %s: %s", code, part, e.Example)
			}
		}
	}
	for code := range elsewhere {
		if !slices.Contains(Codes(), code) {
			t.Errorf("%d is no code", code)
		}
	}
}

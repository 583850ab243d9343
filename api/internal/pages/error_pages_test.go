package pages

import (
	"slices"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
)

// Every reason of the table must have a complete text.
func TestErrorPages_ExplainEveryReason(t *testing.T) {
	t.Parallel()
	for _, e := range fault.Table() {
		a, ok := advised[e.Reason]
		if !ok {
			t.Errorf("%s (%d) has no text", e.Name, e.Code)
			continue
		}
		in := expect.In(t, "%s (%d)", e.Name, e.Code)
		expect.NotEmpty(in, a.Why)
		expect.NotEmpty(in, retries[a.Does])
		expect.NotEmpty(in, handled[a.Does])
		if a.Does != stop {
			retryable := slices.Contains([]int{429, 500, 502, 503, 504}, e.HTTP)
			expect.Equal(in, a.Does == wait, retryable, e.HTTP)
		}
	}
	expect.Len(t, advised, len(fault.Table()))
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
			in := expect.In(t, "the snippet of %d in %s", code, s.What)
			expect.Contains(in, s.Text, "https://gateway.example/")
			expect.NotContains(in, s.Text, "<<")
			expect.NotContains(in, s.Text, "<no value>")
			if strings.HasPrefix(s.Text, "import") {
				expect.Contains(in, s.Text, e.number())
			}
		}
		want := []string{"curl", "viem", "ethers"}
		if !e.Relayed() {
			want = []string{"curl", "javascript"}
		}
		in := expect.In(t, "the page of %d", code)
		expect.EqualSlices(in, ids, want)
		for _, part := range []string{`"code": ` + e.number(), exampleID, "/support/new?request_id="} {
			expect.Contains(in, e.Example, part)
		}
	}
	for code := range elsewhere {
		if !slices.Contains(Codes(), code) {
			t.Errorf("%d is no code", code)
		}
	}
}

package apitest

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/chainaccess/gateway/internal/testkit"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Golden compares an answer with testdata/<name>.golden after it removes what changes from run to
// run.
func (a Answer) Golden(name string) {
	a.T.Helper()
	var text bytes.Buffer
	text.WriteString(http.StatusText(a.Status) + "\n")
	for _, header := range []string{
		"Allow", "Cache-Control", "Content-Type", "Ratelimit-Limit", "Ratelimit-Remaining",
		"Retry-After", "X-Service-Cache",
	} {
		// Except in a 429, they show the current rate window.
		changes := a.Status != http.StatusTooManyRequests && strings.HasPrefix(header, "Ratelimit-")
		if v := a.Header.Get(header); v != "" && !changes {
			text.WriteString(header + ": " + v + "\n")
		}
	}
	text.WriteByte('\n')
	if err := json.Indent(&text, []byte(a.Body), "", "  "); err != nil {
		a.T.Fatalf("%s: %v in %s", name, err, a.Body)
	}
	text.WriteByte('\n')
	got := text.String()
	for _, changing := range []struct{ pattern, placeholder string }{
		{`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`, "<request id>"},
		{`cag_[0-9A-Za-z]{49}`, "<key>"},
		{`cagc_[0-9A-Za-z]{49}`, "<claim code>"},
		{`cag_[0-9A-Za-z]{8}`, "<key prefix>"},
		{`\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z`, "<time>"},
		{`(?i)(retry-after: |"retry_after": |Wait )\d+`, "${1}<seconds>"},
	} {
		got = regexp.MustCompile(changing.pattern).ReplaceAllString(got, changing.placeholder)
	}
	path := filepath.Join("testdata", strings.ReplaceAll(name, " ", "_")+".golden")
	testkit.Golden(a.T, path, got, *update)
}

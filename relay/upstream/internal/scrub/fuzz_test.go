package scrub

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/relay/upstream/internal/fold"
)

// canary is the credential of the fuzzed upstream, which URLs and JSON escape differently.
const canary = "canary/9f8e7d6c+5b4a"

// writings are the ways in which a provider may spell a credential in an error.
var writings = []func(string) string{
	func(s string) string { return s },
	url.QueryEscape,
	url.PathEscape,
	func(s string) string { return strings.ReplaceAll(s, "/", `\/`) },
	func(s string) string { return strings.ReplaceAll(s, "c", `\u0063`) },
	func(s string) string { return strings.ReplaceAll(s, "/", `\u002F`) },
	func(s string) string { return strings.ReplaceAll(s, "a", `%61`) },
	func(s string) string { return url.QueryEscape(url.QueryEscape(s)) },
	func(s string) string { return strings.ReplaceAll(s, "/", `\\\/`) },
}

func FuzzNoCredentialPassesScrubbing(f *testing.F) {
	for i := range writings {
		f.Add(uint8(i), "request to https://node.example/v2/", " failed", false) //nolint:gosec // nine
		f.Add(uint8(i), `\`, `\u00`, true)                                       //nolint:gosec // nine
	}
	address, err := url.Parse("https://node.example/v2/" + url.PathEscape(canary) + "?key=" + url.QueryEscape(canary))
	if err != nil {
		f.Fatal(err)
	}
	s := New(address, map[string]string{"Authorization": "Bearer " + canary})
	f.Fuzz(func(t *testing.T, how uint8, before, after string, asData bool) {
		written := writings[int(how)%len(writings)](canary)
		member := "message"
		if asData {
			member = "data"
		}
		object := []byte(fmt.Sprintf(`{"code":-32000,%q:"%s%s%s"}`, member, before, written, after))
		if clean := s.Text(string(object)); strings.Contains(string(fold.Lower([]byte(clean))), canary) {
			t.Errorf("%s is logged as %s", object, clean)
		}
		if !json.Valid(object) {
			return // such an error is rejected before
		}
		clean := s.Object(object)
		if strings.Contains(string(fold.Lower(clean)), canary) || !json.Valid(clean) {
			t.Errorf("%s became %s", object, clean)
		}
	})
}

package upstream

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/relay/chain"
)

// swapCase swaps the case of ASCII letters. It keeps others: some have no inverse, and no
// provider's words contain any.
func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return r
	}, s)
}

func FuzzClassification(f *testing.F) {
	for _, row := range saying {
		f.Add(-32000, row.message, "", 200, false)
		f.Add(3, "execution reverted: "+row.message, row.message, 500, false)
	}
	for code := range solanaRetry {
		f.Add(code, "block not available for slot", "", 200, true)
	}
	for code := range solanaAnswers {
		f.Add(code, "Transaction simulation failed", "header not found", 200, true)
	}
	f.Fuzz(func(t *testing.T, code int, message, asked string, status int, solana bool) {
		family := chain.EVM
		if solana {
			family = chain.Solana
		}
		object, err := json.Marshal(map[string]any{"code": code, "message": message})
		if err != nil {
			t.Fatal(err)
		}
		v, rank := classifyError(family, object, []byte(asked))
		if int(v.meaning) >= len(verdicts) || verdicts[v.meaning] != v {
			t.Fatalf("%s has a verdict of its own: %+v", object, v)
		}
		other, err := json.Marshal(map[string]any{"code": code, "message": swapCase(message)})
		if err != nil {
			t.Fatal(err)
		}
		if w, r := classifyError(family, other, []byte(swapCase(asked))); w != v || r != rank {
			t.Errorf("%s means %d, and %s means %d", object, v.meaning, other, w.meaning)
		}
		if own, _ := classifyError(family, object, []byte(message)); own.blame != blameNobody {
			t.Errorf("a message of the request's own words blames: %s", object)
		}
		if family == chain.EVM && strings.HasPrefix(strings.ToLower(message), "execution reverted") &&
			v != verdicts[isAnswer] {
			t.Errorf("a revert means %d: %s", v.meaning, object)
		}
		if byStatus, r := classifyStatus(status); (status == 401 || status == 403) &&
			(byStatus != verdicts[isDenied] || r >= rank) {
			t.Errorf("HTTP %d does not outrank %s", status, object)
		}
		classifyError(family, []byte(message), []byte(asked)) // invalid error objects must not panic
	})
}

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
	s := newScrubber(address, map[string]string{"Authorization": "Bearer " + canary})
	f.Fuzz(func(t *testing.T, how uint8, before, after string, asData bool) {
		written := writings[int(how)%len(writings)](canary)
		member := "message"
		if asData {
			member = "data"
		}
		object := []byte(fmt.Sprintf(`{"code":-32000,%q:"%s%s%s"}`, member, before, written, after))
		if clean := s.text(string(object)); strings.Contains(string(fold([]byte(clean))), canary) {
			t.Errorf("%s is logged as %s", object, clean)
		}
		if !json.Valid(object) {
			return // such an error is rejected before
		}
		clean := s.object(object)
		if strings.Contains(string(fold(clean)), canary) || !json.Valid(clean) {
			t.Errorf("%s became %s", object, clean)
		}
	})
}

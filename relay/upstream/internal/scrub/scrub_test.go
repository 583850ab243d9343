package scrub

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/testkit/expect"
)

const (
	pathCanary   = "canary+path/ABCDEF=="
	queryCanary  = "canary&query 0123456"
	userCanary   = "canaryuser"
	passCanary   = "pw+1"
	headerCanary = "canary<header>789"
)

func scrubbed(t *testing.T) Scrubber {
	t.Helper()
	address, err := url.Parse("https://" + url.QueryEscape(userCanary) + ":" + url.QueryEscape(passCanary) +
		"@tenant-canary-1234.provider.example/v2/" + url.PathEscape(pathCanary) + "?apikey=" +
		url.QueryEscape(queryCanary) + "&v=2")
	if err != nil {
		t.Fatal(err)
	}
	return New(address, map[string]string{"X-Api-Key": headerCanary, "Authorization": "Bearer token-canary-42"})
}

// leaks returns the secrets that can be read in text after decoding.
func leaks(text string) []string {
	var found []string
	var decoded any
	if json.Unmarshal([]byte(text), &decoded) == nil {
		again, _ := json.Marshal(decoded)
		text += string(again)
	}
	for range 3 {
		if plain, err := url.QueryUnescape(strings.ReplaceAll(text, "+", "%2B")); err == nil {
			text += plain
		}
	}
	text = strings.NewReplacer(`\/`, "/", `\u0026`, "&", `\u003c`, "<", `\u003e`, ">", `\u002b`, "+", `\u003d`,
		"=").Replace(text)
	basic := base64.StdEncoding.EncodeToString([]byte(userCanary + ":" + passCanary))
	for _, secret := range []string{
		pathCanary, queryCanary, userCanary, passCanary, headerCanary, "token-canary-42", "tenant-canary-1234", basic,
	} {
		if strings.Contains(text, secret) {
			found = append(found, secret)
		}
	}
	return found
}

func TestScrub_CredentialsAreCutOutOfErrorsInEveryForm(t *testing.T) {
	t.Parallel()
	s := scrubbed(t)
	for name, message := range map[string]string{
		"plain path":     `bad key ` + pathCanary,
		"escaped path":   `no route /v2/` + url.PathEscape(pathCanary),
		"lower-case hex": `no route /v2/` + strings.ToLower(url.QueryEscape(pathCanary)),
		"twice escaped":  `no route ` + url.QueryEscape(url.QueryEscape(pathCanary)),
		"query":          `apikey=` + url.QueryEscape(queryCanary) + ` is over its limit`,
		"plain query":    `key ` + queryCanary,
		"user":           `user ` + userCanary,
		"password":       `password ` + passCanary,
		"header":         `header ` + headerCanary,
		"bearer":         `token token-canary-42`,
		"host":           `host tenant-canary-1234.provider.example`,
		"label":          `tenant tenant-canary-1234`,
		"basic": `Authorization: Basic ` +
			base64.StdEncoding.EncodeToString([]byte(userCanary+":"+passCanary)),
		"nothing": `execution reverted`,
	} {
		t.Run(name, func(t *testing.T) {
			for form, object := range map[string]string{
				"go": fmt.Sprintf(`{"code":-32000,"message":%q}`, message),
				"marshal": mustJSON(t, map[string]any{
					"code": -32000, "message": message, "data": map[string]any{"url": message},
				}),
				"slashes": strings.ReplaceAll(mustJSON(t, map[string]any{"code": -32000, "message": message}), "/",
					`\/`),
				"unicode": strings.NewReplacer("+", `\u002b`, "a",
					`\u0061`).Replace(mustJSON(t, map[string]any{"code": -32000, "message": message})),
			} {
				if form == "unicode" {
					object = strings.NewReplacer(`"mess\u0061ge"`, `"message"`, `"d\u0061t\u0061"`,
						`"data"`).Replace(object)
				}
				clean := string(s.Object([]byte(object)))
				var e struct{ Code int }
				if err := json.Unmarshal([]byte(clean), &e); err != nil || e.Code != -32000 {
					t.Errorf("%s/%s: %s is no error object any more (%v)", name, form, clean, err)
				}
				if found := leaks(clean); found != nil {
					t.Errorf("%s/%s: %s shows %v", name, form, clean, found)
				}
			}
			if found := leaks(s.Text(message)); found != nil {
				t.Errorf("the log would show %v", found)
			}
		})
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestScrub_ErrorsWithoutCredentialsPassByteForByte(t *testing.T) {
	t.Parallel()
	s := scrubbed(t)
	for _, object := range []string{
		`{ "code":3, "message":"execution reverted", "data":"0x08c379a0" }`,
		`{"code":-32000,"message":"50% of \"gas\" used: \u00e9 v2 \/ provider"}`,
		`{"code":-32000,"message":"a+b=c & <d>"}`,
	} {
		if got := string(s.Object([]byte(object))); got != object {
			t.Errorf("%s became %s", object, got)
		}
	}
	if s.Object(nil) != nil {
		t.Error("no error became one")
	}
}

func TestScrub_WordsOfAnAddressAreNoSecrets(t *testing.T) {
	t.Parallel()
	address, _ := url.Parse("https://rpc.example.org/v2/execution/eth?v=1")
	s := New(address, nil)
	const object = `{"code":3,"message":"execution reverted: v2 eth"}`
	if got := string(s.Object([]byte(object))); got != object {
		t.Errorf("it became %s", got)
	}
}

func TestScrub_NumericSecretLeavesValidJSON(t *testing.T) {
	t.Parallel()
	address, _ := url.Parse("https://rpc.example.org/v2/12345678")
	s := New(address, nil)
	got := s.Object([]byte(`{"code":-32000,"message":"x","data":12345678}`))
	expect.True(t, json.Valid(got), got)
	expect.NotContains(t, string(got), "12345678")
	expect.Contains(t, string(got), "-32000")
}

package wire_test

import (
	"encoding/hex"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/sandbox/mailbox"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

// toolRefusal is the error of a refused tool call.
type toolRefusal struct {
	raw     json.RawMessage
	Code    int
	Message string
	Data    struct {
		RequestID string            `json:"request_id"`
		NextDoor  map[string]string `json:"next_door"`
	}
}

// tool calls a tool, with a key unless it is empty, and returns its object or its refusal.
func (b *bench) tool(t *testing.T, key, name string, arguments map[string]any) (json.RawMessage, *toolRefusal) {
	t.Helper()
	message, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{
			"name": name, "arguments": arguments,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url+"/mcp",
		strings.NewReader(string(message)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := b.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Result struct {
			Content           []struct{ Text string }
			StructuredContent json.RawMessage
			IsError           bool
		}
	}
	err = json.Unmarshal(text, &answer)
	in := expect.In(t, "%s", name)
	require.NoError(in, err)
	require.Equal(in, resp.StatusCode, http.StatusOK, text)
	require.Len(in, answer.Result.Content, 1, text)
	if !answer.Result.IsError {
		return answer.Result.StructuredContent, nil
	}
	refusal := &toolRefusal{raw: json.RawMessage(answer.Result.Content[0].Text)}
	if err := json.Unmarshal([]byte(answer.Result.Content[0].Text), refusal); err != nil || refusal.Code == 0 {
		t.Fatalf("%s: %s (%v)", name, text, err)
	}
	return nil, refusal
}

// gives calls a tool that succeeds and decodes its answer.
func (b *bench) gives(t *testing.T, into any, key, name string, arguments map[string]any) {
	t.Helper()
	object, refusal := b.tool(t, key, name, arguments)
	if refusal != nil {
		t.Fatalf("%s is refused: %+v", name, refusal)
	}
	if err := json.Unmarshal(object, into); err != nil {
		t.Fatalf("%s: %v in %s", name, err, object)
	}
}

// refuses calls a tool that is refused with a code, and returns the refusal.
func (b *bench) refuses(t *testing.T, code int, key, name string, arguments map[string]any) *toolRefusal {
	t.Helper()
	object, refusal := b.tool(t, key, name, arguments)
	if refusal == nil || refusal.Code != code {
		t.Fatalf("%s gives %s and refuses with %+v, want %d", name, object, refusal, code)
	}
	return refusal
}

// signed is a wallet and its signing function.
type signed struct {
	address string
	sign    func(message string) string
}

func newWallet(t *testing.T) signed {
	t.Helper()
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return signed{crypto.PubkeyToAddress(key.PublicKey).Hex(), func(message string) string {
		hash := wallet.TextHash(message)
		signature, err := crypto.Sign(hash[:], key)
		if err != nil {
			t.Fatal(err)
		}
		signature[64] += 27 // as wallets encode it
		return "0x" + hex.EncodeToString(signature)
	}}
}

// reader is a person's browser.
type reader struct {
	b      *bench
	client *http.Client
}

func (b *bench) reader(t *testing.T) *reader {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &reader{b, &http.Client{Jar: jar}}
}

// open requests a page and returns the final URL and the text.
func (r *reader) open(t *testing.T, path string) (at *url.URL, page string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.b.url+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	return r.read(t, req)
}

func (r *reader) read(t *testing.T, req *http.Request) (at *url.URL, page string) {
	t.Helper()
	resp, err := r.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 400 {
		t.Fatalf("%s %s: HTTP %d, %v, %s", req.Method, req.URL.Path, resp.StatusCode, err, text)
	}
	return resp.Request.URL, html.UnescapeString(string(text))
}

var forgeryField = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// send fills in and submits the form of a page.
func (r *reader) send(t *testing.T, page, to string, fields url.Values) (at *url.URL, answer string) {
	t.Helper()
	_, text := r.open(t, page)
	token := forgeryField.FindStringSubmatch(text)
	if token == nil {
		t.Fatalf("%s has no form: %s", page, text)
	}
	fields.Set("csrf", token[1])
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.b.url+to, strings.NewReader(fields.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r.read(t, req)
}

// signIn signs in with the code from the mail.
func (r *reader) signIn(t *testing.T, box *mailbox.Box, address string) {
	t.Helper()
	r.send(t, "/sign-in", "/sign-in", url.Values{"email": {address}})
	m, err := box.Await(t.Context(), address, 1)
	if err != nil {
		t.Fatal(err)
	}
	if at, page := r.send(t, "/sign-in/code", "/sign-in/code", url.Values{"code": {m.Code}}); at.Path != "/overview" {
		t.Fatalf("the code leads to %s: %s", at, page)
	}
}

// waitRecorded waits until there is usage of that many requests of a kind.
func (b *bench) waitRecorded(t *testing.T, kind string, requests int64) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for sums(t, b.cfg.DatabaseURL, usageQuery)[kind].requests < requests {
		if time.Now().After(deadline) {
			t.Fatalf("usage is %v, want %d of %s", sums(t, b.cfg.DatabaseURL, usageQuery), requests, kind)
		}
		select {
		case <-t.Context().Done():
			t.FailNow()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

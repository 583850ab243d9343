package node

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

// askNode posts a call to a node and returns its result.
func askNode(t *testing.T, url, method, params string) json.RawMessage {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":"x y","method":%q,"params":%s}`, method, params)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var answer struct {
		Version string          `json:"jsonrpc"`
		ID      string          `json:"id"`
		Result  json.RawMessage `json:"result"`
	}
	err = json.NewDecoder(resp.Body).Decode(&answer)
	in := expect.In(t, "%s", method)
	require.NoError(in, err)
	require.Equal(in, answer.Version, "2.0")
	require.Equal(in, answer.ID, "x y")
	return answer.Result
}

func TestNode_AnswersAsOneOfMainnetDoes(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(&Node{})
	defer server.Close()
	if got := askNode(t, server.URL, "eth_chainId", "[]"); string(got) != `"0x1"` {
		t.Errorf("chain id %s", got)
	}
	raw := askNode(t, server.URL, "eth_getTransactionReceipt", `["0x`+strings.Repeat("0", 63)+`7"]`)
	var r receipt
	err := json.Unmarshal(raw, &r)
	require.NoError(t, err)
	expect.Between(t, len(raw), 1000, 2500, raw)
	if head, number := headAt(time.Now()), numberOf(r.BlockNumber, 0); number+900 > head || number == 0 {
		t.Errorf("the receipt is of block %d, want one deep below the head %d", number, head)
	}
	var byHash, byNumber block
	for method, into := range map[string]*block{"eth_getBlockByHash": &byHash, "eth_getBlockByNumber": &byNumber} {
		of := map[string]string{"eth_getBlockByHash": r.BlockHash, "eth_getBlockByNumber": r.BlockNumber}[method]
		if err := json.Unmarshal(askNode(t, server.URL, method, fmt.Sprintf("[%q,false]", of)), into); err != nil {
			t.Fatal(err)
		}
	}
	expect.Equal(t, byHash.Hash, r.BlockHash)
	expect.Equal(t, byNumber.Hash, r.BlockHash)
	expect.Equal(t, byHash.Number, r.BlockNumber)
	if future := askNode(t, server.URL, "eth_getBlockByNumber", `["0x7fffffff",false]`); string(future) != "null" {
		t.Errorf("a block of the future is %.100s", future)
	}
	if a, b := askNode(t, server.URL, "eth_getBalance", `["0xa"]`), askNode(t, server.URL, "eth_getBalance",
		`["0xb"]`); bytes.Equal(a, b) {
		t.Error("two addresses have one balance")
	}
}

func TestTrace_IsJSONOfTheSizeAskedFor(t *testing.T) {
	t.Parallel()
	const size = 300_000
	var text bytes.Buffer
	writeTrace(&text, json.RawMessage(`7`), size)
	var answer struct {
		ID     int `json:"id"`
		Result struct {
			Steps []struct{ PC int } `json:"structLogs"`
		} `json:"result"`
	}
	err := json.Unmarshal(text.Bytes(), &answer)
	require.NoError(t, err)
	expect.Equal(t, answer.ID, 7)
	expect.AtLeast(t, len(answer.Result.Steps), 1000, answer.Result.Steps)
	if n := text.Len(); n < size || n > size+1000 {
		t.Errorf("%d bytes, want %d and a little", n, size)
	}
}

// Names of tokens are requested by an eth_call without a destination whose code ends with the list;
// a call with a destination is another request.
func TestNode_CountsWhatIsAskedOfOwnersOfTokens(t *testing.T) {
	t.Parallel()
	n := &Node{}
	server := httptest.NewServer(n)
	defer server.Close()
	owner := SameTokens + strings.Repeat("0", 38)
	var list tokenList
	if err := json.Unmarshal(askNode(t, server.URL, tokensMethod, fmt.Sprintf(`[%q,"erc20"]`, owner)),
		&list); err != nil || len(list.Tokens) != TokensOwned {
		t.Errorf("it lists %d tokens: %v", len(list.Tokens), err)
	}
	askNode(t, server.URL, "eth_getBalance", fmt.Sprintf(`[%q,"latest"]`, owner))
	askNode(t, server.URL, "eth_getBalance", `["0x00000000000000000000000000000000000000aa","latest"]`)
	code := "0x6001" + fmt.Sprintf("%064x%064x", abiWord, 2) + strings.Repeat("0", 128)
	if got := askNode(t, server.URL, "eth_call", fmt.Sprintf(`[{"data":%q},"latest"]`, code)); string(got) != `"`+
		namesOf(2)+`"` {
		t.Errorf("of two tokens it says %s", got)
	}
	askNode(t, server.URL, "eth_call", fmt.Sprintf(`[{"data":%q,"to":%q},"latest"]`, code, owner))
	got, err := ReadTrips(t.Context(), strings.TrimPrefix(server.URL, "http://"))
	require.NoError(t, err)
	expect.Equal(t, got, Trips{1, 1, 1})
	expect.Equal(t, n.calls.Load(), 5)
}

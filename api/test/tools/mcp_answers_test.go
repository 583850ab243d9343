package tools_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

// Some JSON encoders escape slashes, which the protocol's methods contain.
func TestMCP_SlashesInMethodsMayBeEscaped(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	if a := tell(g, "", `{"jsonrpc":"2.0","id":1,"method":"tools\/list"}`); !strings.Contains(a.Body, `"rpc_call"`) {
		t.Errorf("HTTP %d %.300s", a.Status, a.Body)
	}
	if a := tell(g, "", `{"jsonrpc":"2.0","method":"notifications\/initialized"}`); a.Status != http.StatusAccepted {
		t.Errorf("HTTP %d %.300s", a.Status, a.Body)
	}
	key := g.Unlimited()
	a := tell(g, key,
		`{"jsonrpc":"2.0","id":7,"method":"tools\/call","params":{"name":"rpc_call",`+
			`"arguments":{"chain":"eth_mainnet","method":"eth_chainId"}}}`)
	if n := givenIn(a); !strings.Contains(string(n.object), `"0x1"`) {
		t.Errorf("%s %s", n.object, n.refusal)
	}
}

// Arguments have the same limit as the body of the operation, and are read only once the caller is
// identified.
func TestMCP_ArgumentsAreBoundedLikeBodies(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	long := `{"op":"keccak","input":"` + strings.Repeat("a", 66<<10) + `"}`
	if _, n := callTool(g, key, "convert_evm", long); n.code(t) != -32600 ||
		!strings.Contains(string(n.refusal), "65536 bytes") {
		t.Errorf("with a key: %.300s %.300s", n.object, n.refusal)
	}
	if _, n := callTool(g, "", "convert_evm", long); n.code(t) != -32001 {
		t.Errorf("without one: %.300s %.300s", n.object, n.refusal)
	}
	calldata := `{"chain":"eth_mainnet","address":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","calldata":"0x` +
		strings.Repeat("ab", 50<<10) + `"}`
	if _, n := callTool(g, key, "decode_calldata", calldata); n.code(t) == -32600 {
		t.Errorf("calldata of a length that HTTP takes: %.300s", n.refusal)
	}
	for arguments, field := range map[string]string{
		`{"op":"keccak","input":"a","input":"b"}`: "input", `{"op":"keccak","text":"a"}`: "text",
		`{"op":7,"input":"a"}`: "op", `{"op":null,"input":"a"}`: "op", `{"input":"a"}`: "op",
	} {
		t.Run(arguments, func(t *testing.T) {
			if _, n := callTool(g, key, "convert_evm", arguments); n.code(t) != -32602 ||
				!strings.Contains(string(n.refusal), `"field":"`+field+`"`) {
				t.Errorf("%s %s", n.object, n.refusal)
			}
		})
	}
}

// The cause of a failure behind a tool is logged for the operator. The client gets only the next
// step.
func TestMCP_LogsTheCausesOfFailures(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	g.Eth(key, "eth_chainId").Result() // cached from now on
	g.DropDatabase()
	a, n := callTool(g, key, "list_api_keys", `{}`)
	if n.code(t) != -32030 {
		t.Fatalf("%s %s", n.object, n.refusal)
	}
	log := g.Logs.String()
	in := expect.In(t, "the log does not say why")
	expect.Contains(in, log, `"request failed"`)
	expect.Contains(in, log, a.Header.Get("X-Request-Id"))
	expect.Contains(in, log, "durable_unavailable")
	if !strings.Contains(g.Scrape(), `gateway_refusals_total{code="-32030",reason="durable_unavailable"} 1`) {
		t.Error("the refusal was not counted")
	}
}

// An answer that is too large for a tool is the client's error. It is refunded, and its memory is
// released.
func TestMCP_AnswerTooLargeForAToolIsRefusedAndFree(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, func(o *apitest.Options) { o.Batches = 1 << 20 })
	key := g.DoorKey()
	g.All(testkit.Large(600 << 10))
	const arguments = `{"chain":"eth_mainnet","method":"eth_getBlockByNumber","params":["latest",true]}`
	var last apitest.Answer
	for range 4 {
		a, n := callTool(g, key, "rpc_call", arguments)
		if n.code(t) != -32602 || !strings.Contains(string(n.refusal), "larger than the 524288 bytes") {
			t.Fatalf("%.300s %s", n.object, n.refusal)
		}
		last = a
	}
	if day, _ := g.Counted(key); day != 0 {
		t.Errorf("the day holds %d", day)
	}
	testkit.Eventually(t, apitest.Timeout, func() bool { return g.Recorder.Written() == 4 }, "the calls are recorded")
	calls := g.Calls(last)
	require.Len(t, calls, 1)
	expect.Equal(t, calls[0].Outcome, "range_too_large")
	expect.Equal(t, calls[0].Units, 0)
	g.All(testkit.Large(400 << 10))
	if _, n := callTool(g, g.DoorKey(), "rpc_call", arguments); len(n.object) < 400<<10 {
		t.Errorf("afterwards: %.300s %s", n.object, n.refusal)
	}
}

func TestMCP_AnswerThatBreaksOffIsFree(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.DoorKey()
	g.All(testkit.Stream(func(w io.Writer) error {
		_, _ = io.WriteString(w, `"`+strings.Repeat("0", 300<<10))
		panic(http.ErrAbortHandler)
	}))
	_, n := callTool(g, key, "rpc_call", `{"chain":"eth_mainnet","method":"eth_call","params":[]}`)
	if n.code(t) != -32022 {
		t.Errorf("%.300s %s", n.object, n.refusal)
	}
	if day, _ := g.Counted(key); day != 0 {
		t.Errorf("the day holds %d", day)
	}
}

func TestMCP_ClientThatLeavesPaysForWhatItAsked(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.DoorKey()
	g.All(testkit.Hang(nil))
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.URL+"/mcp",
		strings.NewReader(toolCall("rpc_call", `{"chain":"eth_mainnet","method":"eth_call","params":[]}`)))
	g.Must(err)
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if resp, err := g.Client.Do(req); err == nil {
			_ = resp.Body.Close()
		}
	}()
	testkit.Eventually(t, apitest.Timeout, func() bool { return g.Sent("eth_call") > 0 }, "an upstream was asked")
	leave()
	<-gone
	testkit.Eventually(t, apitest.Timeout, func() bool { return g.Recorder.Written() == 1 }, "the call is recorded")
	if day, _ := g.Counted(key); day != 1000 {
		t.Errorf("the day holds %d: the service did its part", day)
	}
}

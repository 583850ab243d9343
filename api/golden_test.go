package api_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/relay/chain"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares an answer with testdata/<name>.golden after it removes what changes from run to
// run.
func (a answer) golden(name string) {
	a.t.Helper()
	var text bytes.Buffer
	text.WriteString(http.StatusText(a.status) + "\n")
	for _, header := range []string{
		"Allow", "Cache-Control", "Content-Type", "Ratelimit-Limit", "Ratelimit-Remaining",
		"Retry-After", "X-Service-Cache",
	} {
		// Except in a 429, they show the current rate window.
		changes := a.status != http.StatusTooManyRequests && strings.HasPrefix(header, "Ratelimit-")
		if v := a.header.Get(header); v != "" && !changes {
			text.WriteString(header + ": " + v + "\n")
		}
	}
	text.WriteByte('\n')
	if err := json.Indent(&text, []byte(a.body), "", "  "); err != nil {
		a.t.Fatalf("%s: %v in %s", name, err, a.body)
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
	testkit.Golden(a.t, path, got, *update)
}

func TestWireFormats_StayAsTheyAre(t *testing.T) {
	t.Parallel()
	g := setup(t)
	account, door := g.unlimited(), g.doorKey()
	g.newKey().golden("welcome")
	g.newKey()
	g.newKey()
	g.newKey().golden("new key quota")
	g.eth(account, "eth_chainId").golden("hit")
	g.eth("", "eth_call").golden("key missing")
	g.eth(account, "eth_newFilter").golden("method not served")
	g.rpc(account, "bitcoin", call("eth_call", "[]")).golden("unknown chain")
	g.rpc(account, chain.EthMainnet, "not json").golden("not json")
	g.rpc(account, chain.EthMainnet, `{"jsonrpc":"2.0","id":"x"}`).golden("not a request")
	g.rpc(account, chain.EthMainnet, "["+strings.Repeat("1,", 1000)+"1]").golden("batch too large")
	g.rpc("", chain.EthMainnet, batchOf(2, "eth_call")).golden("batch refused")
	g.rpc(account, chain.EthMainnet, call("eth_getLogs", `[{"fromBlock":"0x0","toBlock":"0x3e8"}]`)).golden(
		"range too large")
	g.eth(account, "eth_call", "X-Route-Tier", "slow").golden("tier refused")
	g.rpc(account, chain.EthMainnet, "["+call("eth_chainId", "[]")+","+call("eth_nothing", "[]")+"]").golden("batch")
	g.ask(http.MethodGet, "/rpc/eth_mainnet", "", "").golden("method not allowed")
	g.ask(http.MethodGet, "/nothing", "", "").golden("unknown route")
	g.eth(door, "eth_nothing").golden("door key")
	for range 100 {
		if a := g.eth(door, "eth_chainId"); a.status == http.StatusTooManyRequests {
			a.golden("rate window")
			break
		}
	}
	g.all(testkit.Reset())
	g.rpc(account, chain.EthMainnet, call("eth_sendRawTransaction", `["0x02f86b010780"]`)).golden("outcome unknown")
	g.all(testkit.HTML(http.StatusBadGateway))
	g.eth(account, "eth_call").golden("upstream failed")
	g.all(testkit.ErrorWithData(3, "execution reverted", "0x08c379a0"))
	g.eth(account, "eth_call").golden("error in band")
	g.suspend(door)
	g.eth(door, "eth_call").golden("suspended")
	g.redis.Kill(t)
	g.eth(account, "eth_call").golden("meter unreachable")
}

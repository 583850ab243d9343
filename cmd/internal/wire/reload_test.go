package wire_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/testkit"
)

// give sends an upstreams file to both roles.
func (b *bench) give(t *testing.T, file config.Upstreams) {
	t.Helper()
	for i, role := range []string{"worker", "API"} {
		select {
		case b.reloads[i] <- file:
		case <-time.After(patience):
			t.Fatalf("the %s does not take the file", role)
		}
	}
}

func TestReload_TakesNewUpstreamsWhileCallsAreServed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key, asking := b.newKey(t), b.newKey(t) // one for calls that must succeed, one for polling
	const code = `["0x0000000000000000000000000000000000000001","latest"]`
	b.call(t, key, "eth_getCode", code, http.StatusOK, `"result":"0x6001"`)

	// Another upstream replaces both, and another chain is added.
	next, other := testkit.Upstream(t), testkit.Upstream(t)
	next.On("eth_chainId", testkit.Result("0x2105"))
	other.On("eth_chainId", testkit.Result("0x1"))
	for _, u := range []*testkit.UpstreamServer{next, other} {
		u.On("eth_blockNumber", testkit.Result("0x65"))
		u.On("eth_getCode", testkit.Result("0x6002"))
	}
	file := config.Upstreams{Chains: map[string]config.ChainUpstreams{
		"base_mainnet": {
			Upstreams: []config.Upstream{{Name: "next", URL: next.URL + "/v2/" + canary, Supply: "public"}},
		},
		"eth_mainnet": {Upstreams: []config.Upstream{{Name: "other", URL: other.URL, Supply: "public"}}},
	}}
	b.give(t, file)
	for _, path := range []string{"/rpc/base_mainnet", "/rpc/eth_mainnet"} {
		var answer string
		testkit.Eventually(t, patience, func() bool {
			if status, ready := b.ask(t, http.MethodGet, "/readyz", "", ""); status != http.StatusOK {
				t.Fatalf("the reload took the API out of service: %s", ready)
			}
			_, answer = b.ask(t, http.MethodPost, path, asking,
				`{"jsonrpc":"2.0","id":1,"method":"eth_getCode","params":`+code+`}`)
			return strings.Contains(answer, `"result":"0x6002"`)
		}, "%s is served by its new upstream, not %s", path, &answer)
	}
	for i, u := range b.upstreams {
		u.Forget()
		b.call(t, key, "eth_getCode", code, http.StatusOK, `"result":"0x6002"`)
		if u.Count("eth_getCode") != 0 {
			t.Errorf("removed upstream %d was asked", i)
		}
	}

	// A file that cannot be used changes nothing.
	b.give(t, config.Upstreams{Chains: map[string]config.ChainUpstreams{"dogecoin": {}}})
	testkit.Eventually(t, patience, func() bool {
		return len(b.log.values("upstreams not reloaded, the ones before stay in force", "error")) == 2
	}, "both roles say that the file cannot be used")
	b.call(t, key, "eth_getCode", code, http.StatusOK, `"result":"0x6002"`)

	// The chain is removed again.
	delete(file.Chains, "eth_mainnet")
	b.give(t, file)
	testkit.Eventually(t, patience, func() bool {
		status, answer := b.ask(t, http.MethodPost, "/rpc/eth_mainnet", asking,
			`{"jsonrpc":"2.0","id":1,"method":"eth_getCode","params":`+code+`}`)
		return status == http.StatusNotFound && strings.Contains(answer, "-32600")
	}, "the chain is not served any more")
	testkit.Eventually(t, patience, func() bool {
		return len(b.log.values("upstreams reloaded", "chains")) == 4
	}, "the log tells of two reloads of each role")
	if strings.Contains(b.log.String(), canary) {
		t.Error("the log shows an upstream's address")
	}
}

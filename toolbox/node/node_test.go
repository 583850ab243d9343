package node_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/toolbox/node"
)

// open returns a reader of Ethereum with a public upstream and a premium one, both healthy.
func open(t *testing.T) (r *node.Reader, public, premium *testkit.UpstreamServer) {
	t.Helper()
	public, premium = testkit.Upstream(t), testkit.Upstream(t)
	list := []config.Upstream{
		{Name: "public", URL: public.URL, Supply: "public"}, {Name: "premium", URL: premium.URL, Supply: "premium"},
	}
	pool, err := upstream.NewPool(config.Upstreams{Chains: map[string]config.ChainUpstreams{
		string(chain.EthMainnet): {ChainID: 1337, Upstreams: list},
	}}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	on, _ := pool.Chain(chain.EthMainnet)
	s := upstream.Snapshot{Chain: chain.EthMainnet, MeasuredAt: time.Now(), Head: 100, HeadKnown: true}
	for _, u := range list {
		s.Upstreams = append(s.Upstreams, upstream.UpstreamState{
			Name: u.Name, Fingerprint: on.Fingerprint(u.Name), Usable: true, ChainIDOK: true, Head: 100,
		})
	}
	on.Apply(s)
	return node.New(pool, chain.Links{}), public, premium
}

func TestQuery_UsesPublicSupplyUnlessItSaysOtherwise(t *testing.T) {
	t.Parallel()
	r, public, premium := open(t)
	result, err := r.Call(t.Context(), node.Query{
		Chain: chain.EthMainnet, Method: "eth_getBalance", Params: []any{"0xab", "latest"},
	})
	if err != nil || string(result) != `"0x1"` {
		t.Errorf("answered %s, %v", result, err)
	}
	expect.Equal(t, public.Count("eth_getBalance"), 1)
	expect.Equal(t, premium.Total(), 0)
	expect.Equal(t, string(public.Requests()[0].Params), `["0xab","latest"]`)
	public.Default(testkit.HTML(http.StatusBadGateway))
	if _, err = r.Call(t.Context(), node.Query{
		Chain: chain.EthMainnet, Method: "eth_chainId", Supply: plan.Premium,
	}); err != nil {
		t.Errorf("premium supply: %v", err)
	}
	if id, ok := r.ChainID(chain.EthMainnet); !ok || id != 1337 {
		t.Errorf("the chain's id is %d, %t", id, ok)
	}
}

func TestErrors_OfNodesAndOfTheServiceAreToldApart(t *testing.T) {
	t.Parallel()
	r, public, _ := open(t)
	ask := func(q node.Query) error {
		q.Chain, q.Method = chain.EthMainnet, "eth_call"
		_, err := r.Call(t.Context(), q)
		return err
	}
	public.Default(testkit.ErrorWithData(3, "execution reverted", "0x08c379a0"))
	revert, ok := errors.AsType[*node.Error](ask(node.Query{}))
	require.True(t, ok)
	expect.Equal(t, revert.Code, 3)
	expect.Equal(t, string(revert.Data), `"0x08c379a0"`)
	for name, row := range map[string]struct {
		reply testkit.Reply
		query node.Query
	}{
		"broken":                  {testkit.HTML(http.StatusBadGateway), node.Query{}},
		"larger than was allowed": {testkit.Result(strings.Repeat("a", 4096)), node.Query{MaxAnswer: 1024}},
		"longer than is judged whole": {
			testkit.Result(strings.Repeat("a", 600<<10)), node.Query{MaxAnswer: 300 << 10},
		},
		"a range that we did not ask of": {
			testkit.Error(-32005, "query returned more than 10000 results"), node.Query{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			public.Default(row.reply)
			if f, ok := errors.AsType[*fault.Error](ask(row.query)); !ok || f.HTTP() < 500 {
				t.Errorf("%v; want the service's own failure", f)
			}
		})
	}
	if _, err := r.Call(t.Context(), node.Query{Chain: chain.PolygonPoS, Method: "eth_call"}); !isReason(err,
		fault.NoUpstream) {
		t.Errorf("a chain without upstreams: %v", err)
	}
}

func TestAnswers_LongOnesAreComplete(t *testing.T) {
	t.Parallel()
	r, public, _ := open(t)
	long := strings.Repeat("a", 700<<10)
	public.Default(testkit.Result(long))
	result, err := r.Call(t.Context(), node.Query{Chain: chain.EthMainnet, Method: "eth_getCode"})
	var text string
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(result, &text))
	expect.Equal(t, text, long)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Call(ctx, node.Query{Chain: chain.EthMainnet, Method: "eth_getCode"}); err == nil {
		t.Error("it was answered to nobody")
	}
}

func isReason(err error, reason fault.Reason) bool {
	f, ok := errors.AsType[*fault.Error](err)
	return ok && f.Reason == reason
}

// A provider that takes ten blocks at a time answers for a longer range all the same.
func TestQuery_LongLogRangesAreSplit(t *testing.T) {
	t.Parallel()
	r, public, _ := open(t)
	public.On("eth_getLogs", func(x *testkit.Exchange) {
		var filters []struct{ FromBlock, ToBlock string }
		if err := json.Unmarshal(x.Request.Params, &filters); err != nil || len(filters) != 1 {
			t.Errorf("asked for the logs of %s: %v", x.Request.Params, err)
			return
		}
		from, _ := strconv.ParseUint(filters[0].FromBlock, 0, 64)
		to, _ := strconv.ParseUint(filters[0].ToBlock, 0, 64)
		if to-from >= 10 {
			testkit.Error(-32600, "You can make eth_getLogs requests with up to a 10 block range")(x)
			return
		}
		logs := []any{}
		for n := from; n <= to; n++ {
			logs = append(logs, map[string]any{
				"blockNumber": fmt.Sprintf("%#x", n), "blockHash": "0x1", "logIndex": "0x0",
			})
		}
		testkit.Result(logs)(x)
	})
	result, err := r.Call(t.Context(), node.Query{
		Chain: chain.EthMainnet, Method: "eth_getLogs",
		Params: []any{map[string]any{"fromBlock": "0x1", "toBlock": "0x28"}},
	})
	require.NoError(t, err)
	var logs []struct{ BlockNumber string }
	require.NoError(t, json.Unmarshal(result, &logs))
	require.Len(t, logs, 40)
	expect.Equal(t, logs[39].BlockNumber, "0x28")
}

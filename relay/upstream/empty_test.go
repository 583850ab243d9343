package upstream

import (
	"net/http"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
)

func isNull(result []byte) bool { return string(result) == "null" }

func TestEmptyResult_IsAskedForElsewhereOnlyWhenTheCallSaysSo(t *testing.T) {
	t.Parallel()
	null, known := testkit.Result(nil), testkit.Result("0x1")
	for name, tc := range map[string]struct {
		empty         func([]byte) bool
		first, second testkit.Reply
		want          string
		asked         [2]int
	}{
		"another one knows":   {isNull, null, known, `"0x1"`, [2]int{1, 1}},
		"the first one knows": {isNull, known, null, `"0x1"`, [2]int{1, 0}},
		"nobody knows":        {isNull, null, null, "null", [2]int{1, 1}},
		"the other one is down": {
			isNull, null, testkit.Status(http.StatusInternalServerError), "null", [2]int{1, 1},
		},
		"the other one lacks it": {isNull, null, testkit.Error(-32601, "method not found"), "null", [2]int{1, 1}},
		"the first one is down": {
			isNull, testkit.Status(http.StatusInternalServerError), null, "null", [2]int{1, 1},
		},
		"every result is an answer":   {nil, null, known, "null", [2]int{1, 0}},
		"an error is no empty result": {isNull, testkit.Error(3, "execution reverted"), known, "", [2]int{1, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, first, second := twoUpstreams(t)
			first.On("eth_getTransactionByHash", tc.first)
			second.On("eth_getTransactionByHash", tc.second)
			r := request("eth_getTransactionByHash")
			r.Empty = tc.empty
			answer, refusal := c.Read(deadline(t, testTimeout), r)
			if refusal != nil {
				t.Fatal(refusal)
			}
			defer answer.Release()
			if string(answer.Result) != tc.want {
				t.Errorf("answered %s %s, want %s", answer.Result, answer.Error, tc.want)
			}
			if asked := [2]int{first.Total(), second.Total()}; asked != tc.asked {
				t.Errorf("asked %v, want %v", asked, tc.asked)
			}
		})
	}
}

func TestEmptyResult_BlamesNobodyAndThreeAreEnough(t *testing.T) {
	t.Parallel()
	servers := make([]*testkit.UpstreamServer, 4)
	for i := range servers {
		servers[i] = testkit.Upstream(t)
		servers[i].On("eth_getTransactionByHash", testkit.Result(nil))
	}
	_, c := poolOf(t, chain.EthMainnet, time.Now, providers(servers...))
	c.Apply(healthy(c, time.Now()))
	for range 20 {
		r := request("eth_getTransactionByHash")
		r.Empty = isNull
		answer, refusal := c.Read(deadline(t, testTimeout), r)
		require.Nil(t, refusal)
		require.Equal(t, string(answer.Result), "null")
		require.Equal(t, r.Asked.Attempts, maxAttempts)
		answer.Release()
	}
	for _, e := range c.endpoints {
		if s := e.health.snapshot(time.Now()); s.out || s.errorRate > 0 {
			t.Errorf("%s is blamed: %+v", e.Name, s)
		}
	}
}

package rpc_test

import (
	"net/http"
	"testing"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
)

func TestWindow_IsOnEveryAnswerOfTheRelay(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.AccountKey(plan.Builder)
	limit := int(plan.Must(plan.Builder).Rate.Window().Limit)
	answers := map[string]apitest.Answer{
		"an answer":                 g.Eth(key, "eth_call"),
		"a hit":                     g.Eth(key, "eth_chainId"),
		"a request wrong in itself": g.Eth(key, "eth_nothing"),
		"no JSON":                   g.RPC(key, chain.EthMainnet, "nonsense"),
		"a batch":                   g.RPC(key, chain.EthMainnet, apitest.BatchOf(5, "eth_call")),
	}
	for what, a := range answers {
		t.Run(what, func(t *testing.T) {
			got, remaining, reset := a.Window()
			upTo := limit - 1
			if what == "a batch" {
				upTo = limit - 5
			}
			in := expect.In(t, "%s", what)
			expect.Equal(in, got, limit)
			expect.AtMost(in, remaining, upTo)
			expect.AtLeast(in, remaining, limit-len(answers)-5)
			expect.Between(in, reset, 1, 10)
			if a.Header.Get("Retry-After") != "" {
				t.Errorf("%s says Retry-After", what)
			}
		})
	}
	if a := g.Eth("cag_nothing", "eth_call"); a.Header.Get("RateLimit-Limit") != "" {
		t.Error("a caller nobody knows is told of a window")
	}
}

// A client that stops at 0 is never refused; one that continues is. The value before the first 429
// is 0.
func TestWindow_CountsDownToTheFirstRefusal(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.DoorKey()
	before := -1
	for range 200 { // some of them fall within one window
		a := g.Eth(key, "eth_chainId")
		limit, remaining, _ := a.Window()
		require.Equal(t, limit, 100)
		require.Between(t, remaining, 0, 99)
		if a.Status == http.StatusTooManyRequests {
			if before != 0 {
				t.Errorf("the answer before the first refusal said that %d are left", before)
			}
			return
		}
		before = remaining
	}
	t.Error("nothing was refused")
}

func TestWindow_OfABatchIsWhatItsLastItemLeft(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.DoorKey()
	a := g.RPC(key, chain.EthMainnet, apitest.BatchOf(150, "eth_chainId"))
	// The refused items wait until calls leave the sliding window, up to a
	// hundredth of it after its end.
	limit, remaining, reset := a.Window()
	expect.Equal(t, limit, 100)
	expect.Equal(t, remaining, 0)
	expect.Between(t, reset, 1, 21)
}

package api_test

import (
	"net/http"
	"strconv"
	"testing"

	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
)

// window returns the rate window in the headers of an answer.
func (a answer) window() (limit, remaining, reset int) {
	a.t.Helper()
	for name, to := range map[string]*int{
		"RateLimit-Limit": &limit, "RateLimit-Remaining": &remaining, "RateLimit-Reset": &reset,
	} {
		if len(a.header.Values(name)) > 1 {
			a.t.Errorf("%s is there %d times", name, len(a.header.Values(name)))
		}
		n, err := strconv.Atoi(a.header.Get(name))
		if err != nil {
			a.t.Fatalf("HTTP %d has %s %q", a.status, name, a.header.Get(name))
		}
		*to = n
	}
	return limit, remaining, reset
}

func TestWindow_IsOnEveryAnswerOfTheRelay(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.accountKey(plan.Builder)
	limit := int(plan.Must(plan.Builder).Rate.Window().Limit)
	answers := map[string]answer{
		"an answer":                 g.eth(key, "eth_call"),
		"a hit":                     g.eth(key, "eth_chainId"),
		"a request wrong in itself": g.eth(key, "eth_nothing"),
		"no JSON":                   g.rpc(key, chain.EthMainnet, "nonsense"),
		"a batch":                   g.rpc(key, chain.EthMainnet, batchOf(5, "eth_call")),
	}
	for what, a := range answers {
		got, remaining, reset := a.window()
		upTo := limit - 1
		if what == "a batch" {
			upTo = limit - 5
		}
		if got != limit || remaining > upTo || remaining < limit-len(answers)-5 || reset < 1 || reset > 10 {
			t.Errorf("%s: %d of %d left, reset in %d", what, remaining, got, reset)
		}
		if a.header.Get("Retry-After") != "" {
			t.Errorf("%s says Retry-After", what)
		}
	}
	if a := g.eth("cag_nothing", "eth_call"); a.header.Get("RateLimit-Limit") != "" {
		t.Error("a caller nobody knows is told of a window")
	}
}

// A client that stops at 0 is never refused; one that continues is. The value before the first 429
// is 0.
func TestWindow_CountsDownToTheFirstRefusal(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.doorKey()
	before := -1
	for range 200 { // some of them fall within one window
		a := g.eth(key, "eth_chainId")
		limit, remaining, _ := a.window()
		if limit != 50 || remaining < 0 || remaining > 49 {
			t.Fatalf("%d of %d left", remaining, limit)
		}
		if a.status == http.StatusTooManyRequests {
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
	g := setup(t)
	key := g.doorKey()
	a := g.rpc(key, chain.EthMainnet, batchOf(150, "eth_chainId"))
	// The refused items wait until calls leave the sliding window, up to a
	// fiftieth of it after its end.
	if limit, remaining, reset := a.window(); limit != 50 || remaining != 0 || reset < 1 || reset > 11 {
		t.Errorf("%d of %d left, reset in %d", remaining, limit, reset)
	}
}

func TestWindow_IsOnAnswersOfMeteredOperations(t *testing.T) {
	t.Parallel()
	g, _ := openToolbox(t)
	key := g.accountKey(plan.Builder)
	a := g.get("/toolbox/gas/eth_mainnet", key)
	if limit, remaining, _ := a.window(); a.status != http.StatusOK ||
		limit != int(plan.Must(plan.Builder).Rate.Window().Limit) || remaining >= limit {
		t.Errorf("HTTP %d: %d of %d left", a.status, remaining, limit)
	}
	if free := g.get("/api/usage", key); free.header.Get("RateLimit-Limit") != "" {
		t.Error("an operation that no window counts tells of one")
	}
}

package upstream

import (
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/relay/chain"
)

// A name with a new address or chain id must be probed again.
func TestVerdictHoldsForWhatWasMeasuredNotForTheName(t *testing.T) {
	t.Parallel()
	one := func(address string, id uint64) *Chain {
		p, err := NewPool(config.Upstreams{Chains: map[string]config.ChainUpstreams{string(chain.EthMainnet): {
			ChainID: id, Upstreams: []config.Upstream{{Name: "a", URL: address, Supply: "public"}},
		}}}, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		c, _ := p.Chain(chain.EthMainnet)
		return c
	}
	measured := one("https://node.example/secret-one", 0)
	snapshot := healthy(measured, time.Now())
	for name, c := range map[string]struct {
		chain  *Chain
		usable bool
	}{
		"the same":         {one("https://node.example/secret-one", 0), true},
		"another address":  {one("https://node.example/secret-two", 0), false},
		"another chain id": {one("https://node.example/secret-one", 31337), false},
	} {
		c.chain.Apply(snapshot)
		if ok := c.chain.choiceFor(request("eth_call"), 0) != "none"; ok != c.usable {
			t.Errorf("%s: chosen is %v", name, ok)
		}
	}
	if measured.Fingerprint("nobody") != "" || len(measured.Fingerprint("a")) != 16 {
		t.Error("a fingerprint is 16 digits, and none for an unknown name")
	}
}

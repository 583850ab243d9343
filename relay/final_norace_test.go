//go:build !race

package relay

import (
	"fmt"
	"testing"

	"github.com/chainaccess/gateway/relay/chain"
)

// Under the race detector sync.Pool drops items at random. AllocsPerRun excludes parallel tests.
func TestLookup_AllocatesNothing(t *testing.T) { //nolint:paralleltest // see above
	clock := newClock()
	a, on := setup(t, chain.EthMainnet, 0, clock)
	snapshot(on, 1064, 0, clock.Now())
	for _, row := range []struct{ name, params, result string }{
		{"eth_getBlockByHash", fmt.Sprintf(`["%s", true]`, someHash), `{"number":"0x3e8","hash":"` + someHash + `"}`},
		{"eth_gasPrice", `[]`, `"0x1"`},
		{"eth_chainId", `[]`, ``},
	} {
		t.Run(row.name, func(t *testing.T) {
			m, params := method(t, on, row.name), []byte(row.params)
			l := a.look(on, m, params)
			a.put(on, m, &l, []byte(row.result))
			ctx := t.Context()
			allocs := testing.AllocsPerRun(1000, func() {
				l := a.look(on, m, params)
				if _, ok := a.get(ctx, on, m, &l); !ok {
					t.Fatal("a miss")
				}
			})
			if allocs >= 1 { // the cache library's maintenance may allocate occasionally
				t.Errorf("%v allocations", allocs)
			}
		})
	}
}

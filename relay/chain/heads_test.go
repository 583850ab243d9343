package chain_test

import (
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/chain"
)

// weighed returns the units of a call on Ethereum, and the refusal instead.
func weighed(t *testing.T, method, params string, heads chain.Heads) (units int, refusal *fault.Error) {
	t.Helper()
	m, ok := lookup(t, "eth_mainnet").Method([]byte(method))
	if !ok {
		t.Fatalf("%s is not served", method)
	}
	w, refusal := m.Weigh([]byte(params), heads)
	return w.Units, refusal
}

func TestWeigh_SafeAndFinalizedGoByTheirDepth(t *testing.T) {
	t.Parallel()
	unknown := chain.Heads{Latest: head}
	near := chain.Heads{Latest: head, Safe: head - 32, Finalized: head - 127}
	deep := chain.Heads{Latest: head, Safe: head - 128, Finalized: head - 129}
	onlySafe := chain.Heads{Latest: head, Safe: head - 600}
	for _, tc := range []struct {
		method, params string
		heads          chain.Heads
		units          int
	}{
		{"eth_getBalance", `["0xaa","finalized"]`, unknown, 1},
		{"eth_getBalance", `["0xaa","finalized"]`, chain.Heads{}, 1},
		{"eth_getBalance", `["0xaa","finalized"]`, near, 1},
		{"eth_getBalance", `["0xaa","finalized"]`, deep, 2},
		{"eth_getBalance", `["0xaa","finalized"]`, onlySafe, 1},
		{"eth_getBalance", `["0xaa","safe"]`, deep, 1},
		{"eth_getBalance", `["0xaa","safe"]`, onlySafe, 2},
		{"eth_getBalance", `["0xaa","Finalized"]`, deep, 2},
		{"eth_getBalance", `["0xaa","latest"]`, deep, 1},
		{"eth_getBalance", `["0xaa","pending"]`, deep, 1},
		{"eth_getBalance", `["0xaa"]`, deep, 1},
		{"eth_call", `[{"to":"0xaa"},{"blockNumber":"finalized"}]`, deep, 2},
		{"eth_call", `[{"to":"0xaa"},{"blockNumber":"latest","blockNumber":"finalized"}]`, deep, 2},
		{"eth_call", `[{"to":"0xaa"},{"blockHash":"finalized"}]`, deep, 1},
		{"eth_getLogs", `[{"fromBlock":"finalized","toBlock":"latest"}]`, unknown, 1},
		{"eth_getLogs", `[{"fromBlock":"finalized","toBlock":"latest"}]`, chain.Heads{}, 1},
		{"eth_getLogs", `[{"fromBlock":"finalized","toBlock":"latest"}]`, near, 1}, // 128 blocks
		{"eth_getLogs", `[{"fromBlock":"safe"}]`, deep, 2},                         // 129 blocks
		{"eth_getLogs", `[{"fromBlock":"finalized","toBlock":"pending"}]`, deep, 2},
		{"eth_getLogs", `[{"fromBlock":"finalized","toBlock":"safe"}]`, deep, 1},
		{"eth_getLogs", `[{"fromBlock":"latest","toBlock":"finalized"}]`, deep, 1}, // ends before it begins
		{"eth_getLogs", `[{"fromBlock":"0x2600","toBlock":"safe"}]`, unknown, 2},
		{"eth_getLogs", `[{"fromBlock":"0x2600","toBlock":"finalized"}]`, onlySafe, 2},
		{"eth_getLogs", `[{"fromBlock":"0x2600","toBlock":"finalized"}]`, deep, 2},                             // 144 blocks
		{"eth_getLogs", `[{"fromBlock":"0x2610","toBlock":"finalized"}]`, deep, 1},                             // 128 blocks
		{"eth_getLogs", `[{"fromBlock":"safe","toBlock":"safe"}]`, onlySafe, 1},                                // one block
		{"eth_getLogs", `[{"fromBlock":"safe","toBlock":"latest"}]`, chain.Heads{Latest: 999, Safe: 0}, 1},     // unknown
		{"eth_getLogs", `[{"fromBlock":"safe","toBlock":"latest"}]`, chain.Heads{Latest: 1000, Safe: 1}, 2},    // the cap
		{"eth_getBlockByNumber", `["finalized",false]`, chain.Heads{Latest: head, Finalized: 1}, 1},            // by name
		{"eth_feeHistory", `["0x10","finalized",[]]`, chain.Heads{Latest: head, Safe: 1, Finalized: 1}, 1},     // by its count
		{"eth_getBalance", `["0xaa","finalized"]`, chain.Heads{Latest: chain.StateDepth, Finalized: 1}, 1},     // a young chain
		{"eth_getBalance", `["0xaa","finalized"]`, chain.Heads{Latest: chain.StateDepth + 2, Finalized: 1}, 2}, // one more
	} {
		t.Run(tc.method, func(t *testing.T) {
			if got, refusal := weighed(t, tc.method, tc.params, tc.heads); got != tc.units || refusal != nil {
				t.Errorf("%s %s at %+v weighs %d (%v), want %d", tc.method, tc.params, tc.heads, got, refusal, tc.units)
			}
		})
	}
}

func TestWeigh_RangeOfTagsBeyondTheCapIsRefusedWithItsNumbers(t *testing.T) {
	t.Parallel()
	heads := chain.Heads{Latest: head, Safe: head - 1000, Finalized: head - 2000}
	for params, numbers := range map[string][2]string{
		`[{"fromBlock":"safe","toBlock":"latest"}]`:      {"9000 to 10000 are more", "until 0x2710"},
		`[{"fromBlock":"finalized"}]`:                    {"8000 to 10000 are more", "until 0x2710"},
		`[{"fromBlock":"finalized","toBlock":"safe"}]`:   {"8000 to 9000 are more", "until 0x2328"},
		`[{"fromBlock":"earliest","toBlock":"safe"}]`:    {"0 to 9000 are more", "until 0x2328"},
		`[{"fromBlock":"0x1000","toBlock":"finalized"}]`: {"4096 to 8000 are more", "until 0x1f40"},
	} {
		t.Run(params, func(t *testing.T) {
			_, refusal := weighed(t, "eth_getLogs", params, heads)
			if refusal == nil || refusal.Reason != fault.RangeTooLarge {
				t.Errorf("%s is not refused: %v", params, refusal)
				return
			}
			for _, want := range numbers {
				if !strings.Contains(refusal.Message, want) {
					t.Errorf("the refusal does not say %q: %s", want, refusal.Message)
				}
			}
		})
	}
}

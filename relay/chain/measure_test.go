package chain_test

import (
	"encoding/json"
	"testing"

	"github.com/chainaccess/gateway/relay/chain"
)

var stoodFor = chain.Heads{Latest: 0x2710, Safe: 0x26f0, Finalized: 0x2600, Confirmed: 0x2720, Processed: 0x2730}

func measure(t *testing.T, id, method, params string, h chain.Heads) chain.Measured {
	t.Helper()
	m, ok := lookup(t, id).Method([]byte(method))
	if !ok {
		t.Fatalf("%s is not served", method)
	}
	measured, refusal := m.Measure([]byte(params), &h, 0)
	if refusal != nil {
		t.Fatalf("%s %s: %v", method, params, refusal)
	}
	return measured
}

func TestMeasure_PinsTagsToNumbers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		method, params, want string
		block                uint64
	}{
		{"eth_getBlockByNumber", `["latest",false]`, `["0x2710",false]`, 0x2710},
		{"eth_getBlockByNumber", `["safe",false]`, `["0x26f0",false]`, 0x26f0},
		{"eth_getBlockByNumber", `[ "finalized" , true ]`, `[ "0x2600" , true ]`, 0x2600},
		{"eth_getBlockByNumber", `["lat\u0065st",true]`, `["0x2710",true]`, 0x2710},
		{"eth_getBlockByNumber", `["pending",false]`, `["pending",false]`, 0x2710},
		{"eth_getBlockByNumber", `["earliest",false]`, `["earliest",false]`, 0},
		{"eth_getBlockByNumber", `["LATEST",false]`, `["LATEST",false]`, 0},
		{"eth_getBlockByNumber", `["0x5",false]`, `["0x5",false]`, 5},
		{"eth_getBlockByNumber", `[]`, `[]`, 0x2710},
		{"eth_call", `[{"to":"0x1"},"latest"]`, `[{"to":"0x1"},"0x2710"]`, 0x2710},
		{"eth_call", `[{"to":"0x1"}]`, `[{"to":"0x1"},"0x2710"]`, 0x2710},
		{"eth_call", `[{"to":"0x1"},null]`, `[{"to":"0x1"},"0x2710"]`, 0x2710},
		{"eth_call", `[{"to":"0x1"},{"blockNumber":"latest"}]`, `[{"to":"0x1"},{"blockNumber":"0x2710"}]`, 0x2710},
		{
			"eth_call", `[{"to":"0x1"},{"blockNumber":"latest","blockNumber":"safe"}]`,
			`[{"to":"0x1"},{"blockNumber":"latest","blockNumber":"safe"}]`, 0x26f0,
		},
		{"eth_call", `[{"to":"0x1"},"latest",{}]`, `[{"to":"0x1"},"0x2710",{}]`, 0x2710},
		{"eth_getBalance", `["0xaa"]`, `["0xaa"]`, 0x2710},
		{"eth_getProof", `["0xaa",[],"latest"]`, `["0xaa",[],"0x2710"]`, 0x2710},
		{"eth_feeHistory", `["0x5","latest",[50]]`, `["0x5","0x2710",[50]]`, 0x2710},
		{"eth_simulateV1", `[{},"latest"]`, `[{},"0x2710"]`, 0x2710},
		{"trace_call", `[{},["trace"],"latest"]`, `[{},["trace"],"0x2710"]`, 0x2710},
		{
			"trace_filter", `[{"toBlock":"latest","fromBlock":"safe"}]`,
			`[{"toBlock":"0x2710","fromBlock":"0x26f0"}]`, 0x2710,
		},
		{"eth_getLogs", `[{}]`, `[{"fromBlock":"0x2710","toBlock":"0x2710"}]`, 0x2710},
		{
			"eth_getLogs", `[{ "address":"0x1"}]`,
			`[{"fromBlock":"0x2710","toBlock":"0x2710", "address":"0x1"}]`, 0x2710,
		},
		{"eth_getLogs", `[{"fromBlock":"0x2700"}]`, `[{"toBlock":"0x2710","fromBlock":"0x2700"}]`, 0x2710},
		{
			"eth_getLogs", `[{"toBlock":"latest","fromBlock":"0x2700"}]`, `[{"toBlock":"0x2710","fromBlock":"0x2700"}]`,
			0x2710,
		},
		{
			"eth_getLogs", `[{"fromBlock":"0x2700","toBlock":null}]`, `[{"fromBlock":"0x2700","toBlock":"0x2710"}]`,
			0x2710,
		},
		{"eth_getLogs", `[{"blockHash":"0x1"}]`, `[{"blockHash":"0x1"}]`, 0},
		{"eth_getLogs", `[{"fromBlock":"0x2711"}]`, `[{"fromBlock":"0x2711"}]`, 0},
		{
			"eth_getLogs", `[{"fromBlock":"0x2700","toBlock":"0x2800"}]`, `[{"fromBlock":"0x2700","toBlock":"0x2800"}]`,
			0x2710,
		},
		{"eth_getTransactionByHash", `["0x1"]`, `["0x1"]`, 0},
	} {
		t.Run(tc.method+" "+tc.params, func(t *testing.T) {
			measured := measure(t, "eth_mainnet", tc.method, tc.params, stoodFor)
			if got := string(measured.Pins.Append(nil, []byte(tc.params))); got != tc.want {
				t.Errorf("%s %s is sent as %s, want %s", tc.method, tc.params, got, tc.want)
			}
			if measured.Block != tc.block {
				t.Errorf("%s %s needs block %d, want %d", tc.method, tc.params, measured.Block, tc.block)
			}
		})
	}
}

func TestMeasure_PinsNothingToAnUnknownHead(t *testing.T) {
	t.Parallel()
	for method, params := range map[string]string{
		"eth_call": `[{"to":"0x1"}]`, "eth_getBlockByNumber": `["safe",false]`, "eth_getLogs": `[{}]`,
	} {
		t.Run(method, func(t *testing.T) {
			measured := measure(t, "eth_mainnet", method, params, chain.Heads{})
			if measured.Pins.Any() {
				t.Errorf("%s %s is pinned without a head", method, params)
			}
		})
	}
}

func TestMeasure_WeighsSafeAndFinalizedByTheirDepth(t *testing.T) {
	t.Parallel()
	deep := chain.Heads{Latest: 100_000, Safe: 99_900, Finalized: 99_000}
	for _, tc := range []struct {
		method, params string
		heads          chain.Heads
		units          int
	}{
		{"eth_getBalance", `["0xaa","finalized"]`, deep, 2},
		{"eth_getBalance", `["0xaa","safe"]`, deep, 1},
		{"eth_getBalance", `["0xaa","finalized"]`, chain.Heads{Latest: 100_000}, 1},
		{"eth_getLogs", `[{"fromBlock":"safe","toBlock":"latest"}]`, deep, 1},
		{"eth_getLogs", `[{"fromBlock":"finalized","toBlock":"safe"}]`, deep, 2},
		{"eth_getLogs", `[{"fromBlock":"finalized","toBlock":"safe"}]`, chain.Heads{Latest: 100_000}, 1},
	} {
		t.Run(tc.method+" "+tc.params, func(t *testing.T) {
			if got := measure(t, "eth_mainnet", tc.method, tc.params, tc.heads).Units; got != tc.units {
				t.Errorf("%s %s at %+v weighs %d, want %d", tc.method, tc.params, tc.heads, got, tc.units)
			}
		})
	}
	m, _ := lookup(t, "eth_mainnet").Method([]byte("eth_getLogs"))
	if _, refusal := m.Measure([]byte(`[{"fromBlock":"finalized","toBlock":"latest"}]`), &deep, 0); refusal == nil {
		t.Error("1,001 blocks from finalized to latest are not refused")
	}
}

func TestMeasure_FillsInTheSlotOnSolana(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]string{
		`["a"]`:                              `["a",{"minContextSlot":10000}]`,
		`["a",null]`:                         `["a",{"minContextSlot":10000}]`,
		`["a",{}]`:                           `["a",{"minContextSlot":10000}]`,
		`["a",{"commitment":"confirmed"}]`:   `["a",{"minContextSlot":10016,"commitment":"confirmed"}]`,
		`["a",{"commitment":"processed"}]`:   `["a",{"minContextSlot":10032,"commitment":"processed"}]`,
		`["a",{"commitment":"max"}]`:         `["a",{"commitment":"max"}]`,
		`["a",{"minContextSlot":5}]`:         `["a",{"minContextSlot":5}]`,
		`["a",{"encoding":"base64"},"more"]`: `["a",{"minContextSlot":10000,"encoding":"base64"},"more"]`,
		`["a","confirmed"]`:                  `["a","confirmed"]`,
		`[]`:                                 `[]`,
	} {
		t.Run(params, func(t *testing.T) {
			measured := measure(t, "solana_mainnet", "getBalance", params, stoodFor)
			if got := string(measured.Pins.Append(nil, []byte(params))); got != want {
				t.Errorf("%s is sent as %s, want %s", params, got, want)
			}
		})
	}
	for _, params := range []string{``, `[]`} {
		measured := measure(t, "solana_mainnet", "getLatestBlockhash", params, stoodFor)
		if got := string(measured.Pins.Append(nil, []byte(params))); got != `[{"minContextSlot":10000}]` {
			t.Errorf("%q is sent as %s", params, got)
		}
	}
}

// FuzzMeasure_KeepsJSON checks that pins keep valid parameters valid.
func FuzzMeasure_KeepsJSON(f *testing.F) {
	for _, seed := range []string{
		``, `[]`, `[{}]`, `["latest"]`, `[{"fromBlock":"latest"}]`, `[{"a":1},"latest"]`, `[{},{"blockNumber":"safe"}]`,
		`[{"commitment":"confirmed"}]`, `["a",null]`, `[ { } , null ]`, `[{"toBlock":null,"fromBlock":"safe"}]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, params []byte) {
		if len(params) > 0 && !json.Valid(params) {
			return
		}
		for _, c := range chain.BuiltIn().All() {
			for _, m := range c.Methods() {
				measured, refusal := m.Measure(params, &stoodFor, 0)
				if refusal != nil || !measured.Pins.Any() {
					continue
				}
				if sent := measured.Pins.Append(nil, params); !json.Valid(sent) {
					t.Fatalf("%s %q is sent as %s", m.Name, params, sent)
				}
			}
		}
	})
}

func BenchmarkMeasure(b *testing.B) {
	c, _ := chain.BuiltIn().Lookup("eth_mainnet")
	for method, params := range map[string]string{
		"eth_chainId": `[]`, "eth_getTransactionReceipt": `["0x1234"]`,
		"eth_getBlockByNumber": `["latest",false]`,
		"eth_call":             `[{"to":"0x6b175474e89094c44da98b954eedeac495271d0f","data":"0x70a08231"},"latest"]`,
		"eth_getLogs":          `[{"fromBlock":"0x2700","toBlock":"latest","topics":[]}]`,
	} {
		b.Run(method, func(b *testing.B) {
			m, _ := c.Method([]byte(method))
			raw := []byte(params)
			b.ReportAllocs()
			for b.Loop() {
				if _, refusal := m.Measure(raw, &stoodFor, 0); refusal != nil {
					b.Fatal(refusal)
				}
			}
		})
	}
}

func BenchmarkWeigh(b *testing.B) {
	c, _ := chain.BuiltIn().Lookup("eth_mainnet")
	m, _ := c.Method([]byte("eth_call"))
	raw := []byte(`[{"to":"0x6b175474e89094c44da98b954eedeac495271d0f","data":"0x70a08231"},"latest"]`)
	b.ReportAllocs()
	for b.Loop() {
		if _, refusal := m.Weigh(raw, stoodFor); refusal != nil {
			b.Fatal(refusal)
		}
	}
}

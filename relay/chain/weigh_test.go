package chain_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
)

const head = 0x2710 // 10000

type weighCase struct {
	name      string
	params    string
	units     int // 0: refused
	reason    fault.Reason
	needsHead bool
}

func (tc weighCase) check(t *testing.T, c *chain.Chain, method string) {
	t.Helper()
	m, ok := c.Method([]byte(method))
	if !ok {
		t.Fatalf("%s is not served", method)
	}
	if got := m.NeedsHead([]byte(tc.params)); got != tc.needsHead {
		t.Errorf("%s %s: needs head %v, want %v", method, tc.params, got, tc.needsHead)
	}
	w, refusal := m.Weigh([]byte(tc.params), chain.Heads{Latest: head})
	switch {
	case tc.units == 0 && (refusal == nil || refusal.Reason != tc.reason):
		t.Errorf("%s %s: %s: got %+v, %v; want a refusal with %s", method, tc.params, tc.name, w, refusal, tc.reason)
	case tc.units != 0 && refusal != nil:
		t.Errorf("%s %s: %s: refused: %v", method, tc.params, tc.name, refusal)
	case tc.units != 0 && w.Units != tc.units:
		t.Errorf("%s %s: %s: weighs %d, want %d", method, tc.params, tc.name, w.Units, tc.units)
	case tc.units != 0 && (w.Class == chain.Heavy) != (w.Units == 2):
		t.Errorf("%s %s: %d units of class %s", method, tc.params, w.Units, w.Class)
	}
	if refusal != nil && refusal.HTTP() != 400 {
		t.Errorf("%s: refused with HTTP %d, want 400", tc.name, refusal.HTTP())
	}
}

func TestWeigh_LogRangesAreWeighedAndCapped(t *testing.T) {
	t.Parallel()
	c := lookup(t, "eth_mainnet")
	tooLarge, refused := fault.RangeTooLarge, fault.ParameterRefused
	for _, tc := range []weighCase{
		{"no parameters", ``, 1, 0, false},
		{"empty parameters", ` [ ] `, 1, 0, false},
		{"null filter", `[null]`, 1, 0, false},
		{"empty filter is the head block", `[{}]`, 1, 0, false},
		{"one block", `[{"fromBlock":"0x10","toBlock":"0x10"}]`, 1, 0, false},
		{"128 blocks, both bounds counted", `[{"fromBlock":"0x1","toBlock":"0x80"}]`, 1, 0, false},
		{"129 blocks", `[{"fromBlock":"0x1","toBlock":"0x81"}]`, 2, 0, false},
		{"1000 blocks", `[{"fromBlock":"0x1","toBlock":"0x3e8"}]`, 2, 0, false},
		{"1001 blocks", `[{"fromBlock":"0x1","toBlock":"0x3e9"}]`, 0, tooLarge, false},
		{"everything", `[{"fromBlock":"0x0","toBlock":"latest"}]`, 0, tooLarge, true},
		{"earliest is 0", `[{"fromBlock":"earliest","toBlock":"0x7f"}]`, 1, 0, false},
		{"earliest to latest", `[{"fromBlock":"earliest"}]`, 0, tooLarge, true},
		{"omitted to is the head", `[{"fromBlock":"0x2700"}]`, 1, 0, true},
		{"omitted to, wide", `[{"fromBlock":"0x2600"}]`, 2, 0, true},
		{"null bounds are omitted", `[{"fromBlock":"0x2600","toBlock":null,"blockHash":null}]`, 2, 0, true},
		{"omitted from is the head", `[{"toBlock":"0x2710"}]`, 1, 0, true},
		{"tags are the head", `[{"fromBlock":"finalized","toBlock":"pending"}]`, 1, 0, false},
		{"safe as upper bound", `[{"fromBlock":"0x2600","toBlock":"safe"}]`, 2, 0, true},
		{"to above the head is not clamped", `[{"fromBlock":"0x2710","toBlock":"0x2af8"}]`, 0, tooLarge, false},
		{"latest to above the head", `[{"fromBlock":"latest","toBlock":"0x2af8"}]`, 0, tooLarge, true},
		{"both above the head", `[{"fromBlock":"0x2af8","toBlock":"0x2af9"}]`, 1, 0, false},
		{"from after to is the node's to refuse", `[{"fromBlock":"0x20","toBlock":"0x10"}]`, 1, 0, false},
		{"from above the head", `[{"fromBlock":"0x2711"}]`, 1, 0, true},
		{"a block hash has no range", `[{"blockHash":"0xabc","topics":[]}]`, 1, 0, false},
		{"a hash beside a range", `[{"blockHash":"0xabc","fromBlock":"0x0"}]`, 0, refused, false},
		{"leading zeros", `[{"fromBlock":"0x0001","toBlock":"0x00003e9"}]`, 0, tooLarge, false},
		{"upper case", `[{"fromBlock":"0X1","toBlock":"0X3E9"}]`, 0, tooLarge, false},
		{"escaped digits", `[{"fromBlock":"0x1","toBlock":"\u0030x3e9"}]`, 0, tooLarge, false},
		{"escaped name", `[{"from\u0042lock":"0x1","toBlock":"0x3e9"}]`, 0, tooLarge, false},
		{"repeated bound", `[{"fromBlock":"0x3e9","toBlock":"0x3e9","fromBlock":"0x1"}]`, 0, refused, false},
		{
			"repeated bound through an escape", `[{"fromBlock":"0x3e9","toBlock":"0x3e9","fromBloc\u006b":"0x1"}]`, 0,
			refused, false,
		},
		{"another case", `[{"fromBlock":"0x3e9","toBlock":"0x3e9","FROMBLOCK":"0x1"}]`, 0, refused, false},
		{"another case alone", `[{"fromblock":"0x1","toblock":"0x3e9"}]`, 0, refused, false},
		{"another case beyond ASCII", `[{"fromBloc\u212a":"0x1","toBlock":"0x3e9"}]`, 0, refused, false},
		{"repeated hash", `[{"blockHash":"0x1","blockHash":null}]`, 0, refused, false},
		{"decimal string", `[{"fromBlock":"1","toBlock":"0x3e9"}]`, 0, refused, false},
		{"decimal number", `[{"fromBlock":1,"toBlock":1000}]`, 0, refused, false},
		{"exponent", `[{"fromBlock":1e1,"toBlock":"0x1"}]`, 0, refused, false},
		{"negative", `[{"fromBlock":"-0x1","toBlock":"0x1"}]`, 0, refused, false},
		{"empty string", `[{"fromBlock":"","toBlock":"0x1"}]`, 0, refused, false},
		{"no digits", `[{"fromBlock":"0x","toBlock":"0x1"}]`, 0, refused, false},
		{"not hex", `[{"fromBlock":"0xzz","toBlock":"0x1"}]`, 0, refused, false},
		{"unknown tag", `[{"fromBlock":"Latest"}]`, 0, refused, false},
		{"tag in spaces", `[{"fromBlock":" latest "}]`, 0, refused, false},
		{"bound is an array", `[{"fromBlock":["0x1"],"toBlock":"0x2"}]`, 0, refused, false},
		{"bound is an object", `[{"fromBlock":{"blockNumber":"0x1"},"toBlock":"0x2"}]`, 0, refused, false},
		{"bound is a boolean", `[{"fromBlock":false,"toBlock":"0x2"}]`, 0, refused, false},
		{"largest block number", `[{"fromBlock":"0x7fffffffffffffff","toBlock":"0x7fffffffffffffff"}]`, 1, 0, false},
		{
			"beyond 63 bits, which some read as a tag", `[{"fromBlock":"0xfffffffffffffffb","toBlock":"latest"}]`, 0,
			refused, false,
		},
		{"beyond 64 bits", `[{"fromBlock":"0x1","toBlock":"0x10000000000000001"}]`, 0, refused, false},
		{"from zero to the largest", `[{"fromBlock":"0x0","toBlock":"0x7fffffffffffffff"}]`, 0, tooLarge, false},
		{"filter is an array", `[[{"fromBlock":"0x0"}]]`, 0, refused, false},
		{"filter is a string", `["0x1"]`, 0, refused, false},
		{
			"bounds inside other members do not count",
			`[{"topics":[{"fromBlock":"0x0"}],"fromBlock":"0x1","toBlock":"0x1"}]`, 1, 0, false,
		},
		{
			"a second filter is not read",
			`[{"fromBlock":"0x1","toBlock":"0x1"},{"fromBlock":"0x0","toBlock":"latest"}]`, 1, 0, false,
		},
		{"white space and order", "[ {\n\t\"toBlock\" : \"0x81\" ,\r\"fromBlock\": \"0x1\" } ]", 2, 0, false},
		{"filter cut off", `[{"fromBlock":"0x1","toBlock"`, 1, 0, false},
		{"member cut off", `[{"fromBlock":"0x1" "toBlock":"0x9"}]`, 0, refused, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.check(t, c, "eth_getLogs")
		})
	}
}

func TestWeigh_RangeRefusalSaysHowToPaginate(t *testing.T) {
	t.Parallel()
	m, _ := lookup(t, "eth_mainnet").Method([]byte("eth_getLogs"))
	_, refusal := m.Weigh([]byte(`[{"fromBlock":"0x64","toBlock":"latest"}]`), chain.Heads{Latest: head})
	if refusal == nil {
		t.Fatal("not refused")
	}
	for _, part := range []string{
		"1000 blocks", "100 to 10000", "Paginate", "fromBlock 0x64 toBlock 0x44b", "from 0x44c", "until 0x2710",
	} {
		if !strings.Contains(refusal.Message, part) {
			t.Errorf("message %q lacks %q", refusal.Message, part)
		}
	}
	expect.Equal[any](t, refusal.Data["from_block"], uint64(100))
	expect.Equal[any](t, refusal.Data["to_block"], uint64(head))
	expect.Equal[any](t, refusal.Data["max_blocks"], 1000)
	linked := chain.Links{Contact: "help@example.org", Docs: "https://example.org/docs"}.On(refusal)
	in := expect.In(t, "links are missing")
	expect.Equal[any](in, linked.Data["contact"], "help@example.org")
	expect.Equal[any](in, linked.Data["docs"], "https://example.org/docs")
	expect.Equal[any](in, linked.Data["max_blocks"], 1000)
}

func TestWeigh_FeeHistoryIsCappedInEveryForm(t *testing.T) {
	t.Parallel()
	c := lookup(t, "optimism_mainnet")
	tooLarge, refused := fault.RangeTooLarge, fault.ParameterRefused
	for _, tc := range []weighCase{
		{"hex at the cap", `["0x400","latest",[]]`, 1, 0, false},
		{"hex over the cap", `["0x401","latest",[]]`, 0, tooLarge, false},
		{"number at the cap", `[1024,"latest",[]]`, 1, 0, false},
		{"number over the cap", `[1025,"latest",[]]`, 0, tooLarge, false},
		{"decimal string at the cap", `["1024","latest",[]]`, 1, 0, false},
		{"decimal string over the cap", `["1025","latest",[]]`, 0, tooLarge, false},
		{"leading zeros", `["0x0401"]`, 0, tooLarge, false},
		{"escaped", `["0\u0078401"]`, 0, tooLarge, false},
		{"upper case", `["0X401"]`, 0, tooLarge, false},
		{"beyond 64 bits", `["0x10000000000000001"]`, 0, tooLarge, false},
		{"decimal beyond 64 bits", `[18446744073709551617]`, 0, tooLarge, false},
		{"many zeros are zero", `["0x00000000000000000000000000000001"]`, 1, 0, false},
		{"zero", `["0x0"]`, 1, 0, false},
		{"missing", `[]`, 1, 0, false},
		{"null", `[null,"latest"]`, 1, 0, false},
		{"empty string", `[""]`, 1, 0, false},
		{"exponent", `[1e9]`, 0, refused, false},
		{"fraction", `[10.5]`, 0, refused, false},
		{"negative", `[-1]`, 0, refused, false},
		{"no digits", `["0x"]`, 0, refused, false},
		{"array", `[["0x1"]]`, 0, refused, false},
		{"boolean", `[true]`, 0, refused, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.check(t, c, "eth_feeHistory")
		})
	}
}

// stateReads has a parameter list with a placeholder for the block, for each state read.
var stateReads = map[string]string{
	"eth_getBalance":          `["0xaa",BLOCK]`,
	"eth_getCode":             `["0xaa",BLOCK]`,
	"eth_getTransactionCount": `["0xaa",BLOCK]`,
	"eth_getStorageAt":        `["0xaa","0x0",BLOCK]`,
	"eth_getStorageValues":    `[{"0xaa":["0x0"]},BLOCK]`,
	"eth_getProof":            `["0xaa",["0x0","0x1"],BLOCK]`,
	"eth_call":                `[{"to":"0xaa","data":"0x"},BLOCK,{"0xbb":{}}]`,
	"eth_estimateGas":         `[{"to":"0xaa"},BLOCK]`,
	"eth_createAccessList":    `[{"to":"0xaa"},BLOCK]`,
}

func TestWeigh_StateReadsGoByDepth(t *testing.T) {
	t.Parallel()
	hash := `"0x` + strings.Repeat("0", 63) + `1"`
	c := lookup(t, "polygon_pos")
	for method, template := range stateReads {
		for _, tc := range []weighCase{
			{"head", `"0x2710"`, 1, 0, true},
			{"128 below the head", `"0x2690"`, 1, 0, true},
			{"129 below the head", `"0x268f"`, 2, 0, true},
			{"genesis", `"0x0"`, 2, 0, true},
			{"above the head", `"0x9999999"`, 1, 0, true},
			{"beyond 64 bits", `"0x10000000000000000"`, 1, 0, true},
			{"earliest", `"earliest"`, 2, 0, false},
			{"earliest in another case", `"Earliest"`, 2, 0, false},
			{"latest", `"latest"`, 1, 0, false},
			{"pending", `"pending"`, 1, 0, false},
			{"safe", `"safe"`, 1, 0, false},
			{"finalized", `"finalized"`, 1, 0, false},
			{"null", `null`, 1, 0, false},
			{"hash", hash, 1, 0, false},
			{"leading zeros", `"0x0001"`, 2, 0, true},
			{"escaped", `"\u0030x1"`, 2, 0, true},
			{"decimal string", `"1"`, 2, 0, true},
			{"number", `1`, 2, 0, true},
			{"malformed is the node's to refuse", `"0xzz"`, 1, 0, false},
			{"array is the node's to refuse", `["0x1"]`, 1, 0, false},
			{"object with number", `{"blockNumber":"0x1"}`, 2, 0, true},
			{"object with number near the head", `{"blockNumber":"0x2700"}`, 1, 0, true},
			{"object with earliest", `{"blockNumber":"earliest"}`, 2, 0, false},
			{"object with hash", `{"blockHash":` + hash + `,"requireCanonical":true}`, 1, 0, false},
			{"object with padded number", `{"blockNumber":` + hash + `}`, 2, 0, true},
			{"repeated member: the deepest counts", `{"blockNumber":"0x1","blockNumber":"0x2700"}`, 2, 0, true},
			{"member in another case", `{"blockNumber":"0x2700","BLOCKNUMBER":"0x1"}`, 2, 0, true},
			{"escaped member", `{"\u0062lockNumber":"0x1"}`, 2, 0, true},
			{"empty object", `{}`, 1, 0, false},
		} {
			t.Run(tc.name, func(t *testing.T) {
				tc.params = strings.Replace(template, "BLOCK", tc.params, 1)
				tc.check(t, c, method)
			})
		}
		weighCase{
			name: "omitted block is latest", params: strings.Replace(template, ",BLOCK", "", 1),
			units: 1,
		}.checkOmitted(t, c, method)
	}
}

func (tc weighCase) checkOmitted(t *testing.T, c *chain.Chain, method string) {
	t.Helper()
	if method == "eth_call" {
		tc.params = `[{"to":"0xaa"}]` // its template has a third parameter
	}
	tc.check(t, c, method)
}

func TestWeigh_EveryStateReadIsTested(t *testing.T) {
	t.Parallel()
	for _, m := range lookup(t, "eth_mainnet").Methods() {
		if _, ok := stateReads[m.Name]; ok != m.StateRead() {
			t.Errorf("%s: state read %v, tested %v", m.Name, m.StateRead(), ok)
		}
	}
}

func TestWeigh_StateReadsOfAYoungChainAreShallow(t *testing.T) {
	t.Parallel()
	m, _ := lookup(t, "eth_mainnet").Method([]byte("eth_getBalance"))
	for h, want := range map[uint64]int{0: 1, 127: 1, 128: 1, 129: 2} {
		t.Run(fmt.Sprint(h), func(t *testing.T) {
			if w, _ := m.Weigh([]byte(`["0xaa","0x0"]`), chain.Heads{Latest: h}); w.Units != want {
				t.Errorf("block 0 at head %d weighs %d, want %d", h, w.Units, want)
			}
		})
	}
}

func TestWeigh_OtherMethodsGoByNameAlone(t *testing.T) {
	t.Parallel()
	for _, c := range chain.BuiltIn().All() {
		for _, m := range c.Methods() {
			if m.StateRead() || m.Name == "eth_getLogs" || m.Name == "eth_feeHistory" {
				continue
			}
			for _, params := range []string{``, `[]`, `["0x0","0x0"]`, `[{"fromBlock":"0x0","toBlock":"latest"}]`} {
				w, refusal := m.Weigh([]byte(params), chain.Heads{Latest: head})
				in := expect.In(t, "%s %s", m.Name, params)
				require.Nil(in, refusal)
				expect.Equal(in, w.Units, m.Weight)
				expect.Equal(in, w.Class, m.Class)
				expect.False(in, m.NeedsHead([]byte(params)))
			}
		}
	}
}

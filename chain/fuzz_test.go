package chain_test

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/chain"
)

// logReaders read a filter as nodes do: by exact name, or with case folded (encoding/json into a struct); the last of repeated
// members wins in both.
var logReaders = map[string]func(json.RawMessage) (from, to, hash any, ok bool){
	"exact": func(raw json.RawMessage) (from, to, hash any, ok bool) {
		var m map[string]any
		if !decode(raw, &m) {
			return nil, nil, nil, false
		}
		return m["fromBlock"], m["toBlock"], m["blockHash"], true
	},
	"folded": func(raw json.RawMessage) (from, to, hash any, ok bool) {
		var m struct{ FromBlock, ToBlock, BlockHash any }
		if !decode(raw, &m) {
			return nil, nil, nil, false
		}
		return m.FromBlock, m.ToBlock, m.BlockHash, true
	},
}

func decode(raw []byte, into any) bool {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(into) == nil
}

// readBound reads a block as leniently as any node might; ok is false for what none would.
func readBound(v any, head uint64) (*big.Int, bool) {
	var s string
	switch v := v.(type) {
	case nil:
		return new(big.Int).SetUint64(head), true
	case string:
		s = strings.ToLower(strings.TrimSpace(v))
	case json.Number:
		s = v.String()
	default:
		return nil, false
	}
	switch s {
	case "latest", "pending", "safe", "finalized":
		return new(big.Int).SetUint64(head), true
	case "earliest":
		return new(big.Int), true
	}
	base := 10
	if digits, ok := strings.CutPrefix(s, "0x"); ok {
		s, base = digits, 16
	}
	return new(big.Int).SetString(s, base)
}

// FuzzLogRangeIsNeverExceeded holds that what passes the cap is within it for every way of reading the filter.
func FuzzLogRangeIsNeverExceeded(f *testing.F) {
	for _, seed := range []string{
		``, `[]`, `[null]`, `[{}]`, `[{"fromBlock":"0x1","toBlock":"0x3e8"}]`, `[{"fromBlock":"0x1","toBlock":"0x3e9"}]`,
		`[{"fromBlock":"0x3e9","toBlock":"0x3e9","fromBlock":"0x1"}]`, `[{"FROMBLOCK":"0x1","fromBlock":"0x3e9"}]`,
		`[{"fromBloc\u212a":"0x0"}]`, `[{"from\u0042lock":"0x1"}]`, `[{"fromBlock":"\u0030x1"}]`, `[{"fromBlock":1}]`,
		`[{"blockHash":"0x1","fromBlock":"0x0"}]`, `[{"fromBlock":"0xfffffffffffffffb"}]`, `[{"a":[{"fromBlock":1}],"toBlock":null}]`,
	} {
		f.Add([]byte(seed), uint64(0x2710))
	}
	c, _ := chain.Lookup("eth_mainnet")
	m, _ := c.Method([]byte("eth_getLogs"))
	f.Fuzz(func(t *testing.T, params []byte, head uint64) {
		needs := m.NeedsHead(params)
		w, refusal := m.Weigh(params, head)
		var list []json.RawMessage
		if refusal != nil || json.Unmarshal(params, &list) != nil || len(list) == 0 {
			return
		}
		if other, again := m.Weigh(params, head/2+7); !needs && (again != nil || other != w) {
			t.Fatalf("%s does not need the head, but weighs %+v or %+v", params, w, other)
		}
		for name, read := range logReaders {
			from, to, hash, ok := read(list[0])
			if !ok || hash != nil {
				continue
			}
			low, okLow := readBound(from, head)
			high, okHigh := readBound(to, head)
			if !okLow || !okHigh || low.Cmp(high) > 0 {
				continue
			}
			blocks := new(big.Int).Sub(high, low)
			blocks.Add(blocks, big.NewInt(1))
			if blocks.Cmp(big.NewInt(chain.MaxLogBlocks)) > 0 {
				t.Fatalf("%s passes, and the %s reader reads %s blocks", params, name, blocks)
			}
			if wide := blocks.Cmp(big.NewInt(chain.WideLogBlocks)) > 0; wide != (w.Units == 2) {
				t.Fatalf("%s weighs %d, and the %s reader reads %s blocks", params, w.Units, name, blocks)
			}
		}
	})
}

// FuzzFeeHistoryIsNeverExceeded does the same for the block count of eth_feeHistory.
func FuzzFeeHistoryIsNeverExceeded(f *testing.F) {
	for _, seed := range []string{``, `["0x400"]`, `["0x401"]`, `[1024]`, `[1025]`, `["1025"]`, `[1e9]`, `["0\u0078401"]`, `[" 1025"]`, `["0x10000000000000000"]`} {
		f.Add([]byte(seed))
	}
	c, _ := chain.Lookup("eth_mainnet")
	m, _ := c.Method([]byte("eth_feeHistory"))
	f.Fuzz(func(t *testing.T, params []byte) {
		_, refusal := m.Weigh(params, 0)
		var list []any
		if refusal != nil || !decode(params, &list) || len(list) == 0 || list[0] == nil {
			return
		}
		if n, ok := readBound(list[0], 0); ok && n.Cmp(big.NewInt(chain.MaxFeeBlocks)) > 0 {
			t.Fatalf("%s passes with %s blocks", params, n)
		}
	})
}

// FuzzWeighNeverPanics throws anything at every method's rules.
func FuzzWeighNeverPanics(f *testing.F) {
	for _, seed := range []string{``, `[`, `["`, `["\`, `[{`, `[{"`, `[{"a`, `[{"a":`, `[{"a":[`, `["0xaa",{"blockNumber":"0x1"}]`, `["a" "b"]`, `[,]`, `]`, `[}`} {
		f.Add([]byte(seed), uint64(1))
	}
	f.Fuzz(func(t *testing.T, params []byte, head uint64) {
		for _, c := range chain.All() {
			for _, m := range c.Methods() {
				m.NeedsHead(params)
				w, refusal := m.Weigh(params, head)
				if refusal == nil && w.Units != 1 && w.Units != 2 {
					t.Fatalf("%s %s weighs %d", m.Name, params, w.Units)
				}
			}
			if field, value := c.SubmissionID(params); (field == "") != (value == "") {
				t.Fatalf("%s: field %q, value %q", params, field, value)
			}
		}
	})
}

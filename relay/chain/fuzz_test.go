package chain_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/relay/chain"
)

// logReaders read a filter as nodes do: by exact name, or with case folded (encoding/json into a
// struct). In both, the last of repeated members wins.
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

// readBound reads a block as leniently as any node might; ok is false if no node would accept it.
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

// FuzzLogRangeIsNeverExceeded checks that whatever passes the cap is within it for every way of
// reading the filter.
func FuzzLogRangeIsNeverExceeded(f *testing.F) {
	for _, seed := range []string{
		``, `[]`, `[null]`, `[{}]`, `[{"fromBlock":"0x1","toBlock":"0x3e8"}]`,
		`[{"fromBlock":"0x1","toBlock":"0x3e9"}]`, `[{"fromBlock":"0x3e9","toBlock":"0x3e9","fromBlock":"0x1"}]`,
		`[{"FROMBLOCK":"0x1","fromBlock":"0x3e9"}]`, `[{"fromBloc\u212a":"0x0"}]`, `[{"from\u0042lock":"0x1"}]`,
		`[{"fromBlock":"\u0030x1"}]`, `[{"fromBlock":1}]`, `[{"blockHash":"0x1","fromBlock":"0x0"}]`,
		`[{"fromBlock":"0xfffffffffffffffb"}]`, `[{"a":[{"fromBlock":1}],"toBlock":null}]`,
	} {
		f.Add([]byte(seed), uint64(0x2710))
	}
	c, _ := chain.BuiltIn().Lookup("eth_mainnet")
	m, _ := c.Method([]byte("eth_getLogs"))
	f.Fuzz(func(t *testing.T, params []byte, head uint64) {
		needs := m.NeedsHead(params)
		w, refusal := m.Weigh(params, chain.Heads{Latest: head})
		var list []json.RawMessage
		if refusal != nil || json.Unmarshal(params, &list) != nil || len(list) == 0 {
			return
		}
		if other, again := m.Weigh(params, chain.Heads{Latest: head/2 + 7}); !needs && (again != nil || other != w) {
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

// FuzzFeeHistoryIsNeverExceeded does the same for eth_feeHistory's block count.
func FuzzFeeHistoryIsNeverExceeded(f *testing.F) {
	for _, seed := range []string{
		``, `["0x400"]`, `["0x401"]`, `[1024]`, `[1025]`, `["1025"]`, `[1e9]`, `["0\u0078401"]`, `[" 1025"]`,
		`["0x10000000000000000"]`,
	} {
		f.Add([]byte(seed))
	}
	c, _ := chain.BuiltIn().Lookup("eth_mainnet")
	m, _ := c.Method([]byte("eth_feeHistory"))
	f.Fuzz(func(t *testing.T, params []byte) {
		_, refusal := m.Weigh(params, chain.Heads{})
		var list []any
		if refusal != nil || !decode(params, &list) || len(list) == 0 || list[0] == nil {
			return
		}
		if n, ok := readBound(list[0], 0); ok && n.Cmp(big.NewInt(chain.MaxFeeBlocks)) > 0 {
			t.Fatalf("%s passes with %s blocks", params, n)
		}
	})
}

// stateReaders read the block parameter of a state read as nodes do: a bare value, or the object of
// EIP-1898 with its members by exact or case-folded name.
var stateReaders = map[string]func(json.RawMessage) any{
	"exact": func(raw json.RawMessage) any {
		var m map[string]any
		if !decode(raw, &m) {
			var v any
			decode(raw, &v)
			return v
		}
		if m["blockHash"] != nil {
			return nil
		}
		return m["blockNumber"]
	},
	"folded": func(raw json.RawMessage) any {
		var m struct{ BlockNumber, BlockHash any }
		if !decode(raw, &m) {
			var v any
			decode(raw, &v)
			return v
		}
		if m.BlockHash != nil {
			return nil
		}
		return m.BlockNumber
	},
}

// FuzzDeepStateReadWeighsTwo checks that no block that a node would read as deep weighs 1, and that
// plainly near blocks weigh 1.
func FuzzDeepStateReadWeighsTwo(f *testing.F) {
	for _, seed := range []string{
		`"0x268f"`, `"0x2690"`, `"earliest"`, `"Earliest"`, `"latest"`, `"pending"`, `null`, `1`, `"1"`, `0`, `1e0`,
		`"\u0030x1"`, `"0X1"`, `" 0x1"`, `{"blockNumber":"0x1"}`, `{"blockNumber":"0x2700","blockNumber":"0x1"}`,
		`{"BlockNumber":"0x1","blockNumber":"0x2700"}`, `{"bloc\u212aNumber":"0x1"}`, `{"blockHash":"0x01"}`,
		`{"blockHash":null,"blockNumber":"0x1"}`, `{"blockNumber":"earliest"}`, `{}`,
		`"0x0000000000000000000000000000000000000000000000000000000000000001"`, `"0x10000000000000001"`, `["0x1"]`,
		`-1`, `"0x"`, `"0"`,
	} {
		f.Add([]byte(seed), uint64(0x2710))
	}
	c, _ := chain.BuiltIn().Lookup("eth_mainnet")
	methods := stateReads
	f.Fuzz(func(t *testing.T, block []byte, head uint64) {
		if !json.Valid(block) {
			return
		}
		var text string
		if json.Unmarshal(block, &text) == nil && len(text) == len("0x")+64 {
			return // a string as long as a hash counts as a hash
		}
		for name, template := range methods {
			m, _ := c.Method([]byte(name))
			params := []byte(strings.Replace(template, "BLOCK", string(block), 1))
			w, refusal := m.Weigh(params, chain.Heads{Latest: head})
			if refusal != nil {
				t.Fatalf("%s %s is refused: %v", name, params, refusal)
			}
			if other, _ := m.Weigh(params, chain.Heads{Latest: head/2 + 7}); !m.NeedsHead(params) && other != w {
				t.Fatalf("%s %s does not need the head, but weighs %+v or %+v", name, params, w, other)
			}
			for reader, read := range stateReaders {
				if deep := readsDeep(read(block), head); deep && w.Units != 2 {
					t.Fatalf("%s %s at head %d weighs %d, and the %s reader reads a deep block", name, params, head,
						w.Units, reader)
				}
			}
			if string(block) == `"latest"` && w.Units != 1 {
				t.Fatalf("%s at latest weighs %d", name, w.Units)
			}
		}
	})
}

// readsDeep reports whether a value is a block more than 128 below the head. It ignores white space
// and signs, which no node accepts.
func readsDeep(v any, head uint64) bool {
	if v == nil {
		return false
	}
	if s := fmt.Sprint(v); s != strings.TrimSpace(s) || strings.ContainsAny(s, "+-") {
		return false
	}
	n, ok := readBound(v, head)
	if !ok {
		return false
	}
	limit := new(big.Int).SetUint64(head)
	return n.Cmp(limit.Sub(limit, big.NewInt(chain.StateDepth))) < 0
}

// FuzzWeighNeverPanics passes arbitrary input to every method's rules.
func FuzzWeighNeverPanics(f *testing.F) {
	for _, seed := range []string{
		``, `[`, `["`, `["\`, `[{`, `[{"`, `[{"a`, `[{"a":`, `[{"a":[`, `["0xaa",{"blockNumber":"0x1"}]`, `["a" "b"]`,
		`[,]`, `]`, `[}`,
	} {
		f.Add([]byte(seed), uint64(1))
	}
	f.Fuzz(func(t *testing.T, params []byte, head uint64) {
		for _, c := range chain.BuiltIn().All() {
			for _, m := range c.Methods() {
				m.NeedsHead(params)
				w, refusal := m.Weigh(params, chain.Heads{Latest: head})
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

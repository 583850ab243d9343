package solana

import (
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/sandbox/internal/devkey"
	"github.com/chainaccess/gateway/internal/testkit/expect"
)

// Calls every method of the node with valid parameters.
func TestMethods_AllAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t, steady)
	owner := publicKey(b.rich)
	held := associated(owner, usdcMint, tokenProgram)
	var slot uint64
	b.get(&slot, "getSlot", map[string]string{"commitment": confirmed})
	for skipped(slot) {
		slot--
	}
	w := transfer(b.rich, publicKey(b.poor), 1_000_000, b.blockhash(finalized))
	calls := map[string][]any{
		"getAccountInfo": {owner}, "getBalance": {owner}, "getMultipleAccounts": {[]key{owner, {9}}},
		"getMinimumBalanceForRentExemption": {165}, "getTokenAccountBalance": {held}, "getTokenSupply": {usdcMint},
		"getTokenLargestAccounts": {usdcMint},
		"getTokenAccountsByOwner": {
			owner, map[string]any{"mint": usdcMint}, map[string]any{"encoding": "jsonParsed"},
		},
		"getTokenAccountsByDelegate": {owner, map[string]any{"programId": tokenProgram}, base64Encoding},
		"isBlockhashValid":           {w.blockhash}, "getBlock": {slot, map[string]any{"commitment": confirmed}},
		"getBlockTime": {slot}, "getBlocks": {slot - 9, slot}, "getBlocksWithLimit": {slot - 99, 5},
		"getBlockCommitment": {slot}, "sendTransaction": {encode64(w), base64Encoding},
		"simulateTransaction": {encode64(w), base64Encoding}, "getFeeForMessage": {encode64(&wire{raw: w.signed})},
		"getTransaction":       {w.signatures[0]},
		"getSignatureStatuses": {[]signature{w.signatures[0]}}, "getSignaturesForAddress": {owner},
		"getSlotLeaders": {slot, 5}, "getInflationReward": {[]key{owner}},
	}
	for name := range methods {
		var result json.RawMessage
		b.get(&result, name, calls[name]...)
		if len(result) == 0 {
			t.Errorf("%s: empty result", name)
		}
	}
}

func TestBlocks_MissingAnswerNativeCodes(t *testing.T) {
	t.Parallel()
	b := setup(t, steady)
	var slot uint64
	b.get(&slot, "getSlot")
	gap := slot
	for !skipped(gap) {
		gap--
	}
	for name, c := range map[string]struct {
		slot uint64
		code int
	}{"skipped": {gap, -32007}, "not yet": {slot + 1_000_000, -32004}, "long ago": {5, -32001}} {
		t.Run(name, func(t *testing.T) {
			if err := b.call(nil, "getBlock", c.slot); err == nil || err.Code != c.code {
				t.Errorf("%+v, want %d", err, c.code)
			}
		})
	}
	if err := b.call(nil, "getBlock", slot, map[string]string{"commitment": processed}); err == nil ||
		err.Code != -32602 {
		t.Errorf("processed: %+v", err)
	}
	ahead := map[string]any{"minContextSlot": slot + 1_000_000}
	if err := b.call(nil, "getBalance", publicKey(b.rich), ahead); err == nil || err.Code != -32016 {
		t.Errorf("minimum context slot: %+v", err)
	}
}

func TestParameters_InvalidAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, steady)
	for _, c := range []struct {
		method string
		params []any
		code   int
	}{
		{"getBalance", nil, -32602},
		{"getBalance", []any{7}, -32602},
		{"getBalance", []any{"0OIl"}, -32602},
		{"getBalance", []any{"abc"}, -32602},
		{"getBalance", []any{key{}, map[string]any{"commitment": "maybe"}}, -32602},
		{"getAccountInfo", []any{key{}, map[string]any{"encoding": "hex"}}, -32602},
		{"getSignatureStatuses", []any{make([]string, 257)}, -32602},
		{"getBlocks", []any{1, 1_000_000}, -32602},
		{"getProgramAccounts", []any{key{}}, -32601},
		{"requestAirdrop", []any{key{}, 1}, -32601},
	} {
		t.Run(c.method, func(t *testing.T) {
			if err := b.call(nil, c.method, c.params...); err == nil || err.Code != c.code {
				t.Errorf("%s %v: %+v, want %d", c.method, c.params, err, c.code)
			}
		})
	}
	for body, code := range map[string]int{`{`: -32700, `{"id":1}`: -32600, `[]`: -32600, `7`: -32600, ``: -32700} {
		t.Run(body, func(t *testing.T) {
			var answer failure
			b.must(json.Unmarshal(b.post([]byte(body)), &answer))
			if answer.Error == nil || answer.Error.Code != code {
				t.Errorf("%+v, want %d", answer.Error, code)
			}
		})
	}
}

func TestBatch_AnswersInOrderWithEachIDAsSent(t *testing.T) {
	t.Parallel()
	b := setup(t, steady)
	answer := string(
		b.post([]byte(`[{"jsonrpc":"2.0","id":1e2,"method":"getHealth"},{"jsonrpc":"2.0","id":"b","method":"nope"}]`)))
	want := `[{"jsonrpc":"2.0","result":"ok","id":1e2},{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not ` +
		`found"},"id":"b"}]`
	if answer != want {
		t.Errorf("answer %s", answer)
	}
}

func TestTokenAccounts_AreParsed(t *testing.T) {
	t.Parallel()
	b := setup(t, steady)
	var raw json.RawMessage
	b.get(&raw, "getTokenAccountsByOwner", publicKey(b.rich), map[string]any{"programId": tokenProgram},
		map[string]any{"encoding": "jsonParsed"})
	for _, part := range []string{
		`"uiAmountString":"1000"`, usdcMint.String(), publicKey(b.rich).String(), `"program":"spl-token"`,
	} {
		if !strings.Contains(string(raw), part) {
			t.Errorf("%s lacks %s", raw, part)
		}
	}
}

// An associated account must be off the curve, while real keys are on it.
func TestAssociatedAccount_IsNoPublicKey(t *testing.T) {
	t.Parallel()
	b := setup(t, steady)
	if onCurve(associated(publicKey(b.rich), usdcMint, tokenProgram)) {
		t.Error("the associated account is on the curve")
	}
	for _, k := range []key{publicKey(b.rich), publicKey(b.poor)} {
		if !onCurve(k) {
			t.Errorf("%s is a key but not on the curve", k)
		}
	}
}

func TestLedger_ForgetsOldBlocks(t *testing.T) {
	t.Parallel()
	b := setup(t, steady)
	l := newLedger(key{1})
	l.seed(nil, b.node.traffic[:], key{1}, key{2})
	var first *wire
	for slot := uint64(1_000); slot < 1_000+maxBlocks+500; slot++ {
		l.produce(slot, time.Unix(1, 0))
		w := transfer(b.node.traffic[0], publicKey(b.poor), 1_000_000+slot, l.latestHash())
		if first == nil {
			first = w
		}
		l.enqueue(w)
	}
	expect.Len(t, l.blocks, maxBlocks)
	expect.Len(t, l.bySignature, l.kept)
	expect.AtMost(t, l.kept, maxBlocks)
	expect.AtMost(t, len(l.heights), 2*maxAge, l.heights)
	if l.bySignature[first.signatures[0]] != nil {
		t.Error("the first transaction is still there")
	}
	for k, versions := range l.accounts {
		if len(versions) > finalizedDepth+2 {
			t.Errorf("%s has %d versions", k, len(versions))
		}
	}
}

func TestFee_IncludesThePriceOfComputeUnits(t *testing.T) {
	t.Parallel()
	limit := append([]byte{2}, binary.LittleEndian.AppendUint32(nil, 1_000)...)
	price := append([]byte{3}, binary.LittleEndian.AppendUint64(nil, 1_500)...)
	m := &message{
		required: 2, keys: []key{{1}, {2}, computeProgram}, instructions: []instruction{
			{program: 2, data: limit}, {program: 2, data: price},
		},
	}
	if fee, unitPrice := m.fee(); fee != 2*signatureFee+2 || unitPrice != 1_500 {
		t.Errorf("fee %d at %d", fee, unitPrice)
	}
	price = append([]byte{3}, binary.LittleEndian.AppendUint64(nil, ^uint64(0))...)
	m.instructions[1].data = price
	if fee, _ := m.fee(); fee < 1<<50 {
		t.Errorf("fee %d overflowed", fee)
	}
}

func FuzzParseWire(f *testing.F) {
	k, err := devkey.Solana(0)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(transfer(k, key{7}, 5, key{9}).raw)
	f.Add([]byte{})
	f.Add([]byte{0x80, 0x80, 0x01})
	f.Fuzz(func(t *testing.T, raw []byte) {
		w, err := parseWire(raw)
		if err != nil || w.sanitize() != nil || len(w.signatures) != w.required {
			return
		}
		if len(w.raw) > len(raw) {
			t.Errorf("parsed %d bytes of %d", len(w.raw), len(raw))
		}
		w.verify()
		w.fee()
		w.jsonParsed()
	})
}

package toolbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/sandbox"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/toolbox"
	"github.com/chainaccess/gateway/toolbox/node"
)

const patience = time.Minute

// realm is a sandbox with a ledger on its probed upstreams.
type realm struct {
	*sandbox.Sandbox

	t      *testing.T
	id     chain.ID
	pool   *upstream.Pool
	ledger *toolbox.Ledger
	client *rpc.Client // of the second upstream
}

func openRealm(t *testing.T, id chain.ID, o sandbox.Options) *realm {
	t.Helper()
	o.Chains, o.BlockTime, o.SlotTime = []chain.ID{id}, 100*time.Millisecond, 50*time.Millisecond
	s, err := sandbox.Start(t.Context(), o)
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	var list []config.Upstream
	for _, u := range s.Upstreams() {
		list = append(list, config.Upstream{Name: u.Name, URL: u.URL, Supply: "public"})
	}
	pool, err := upstream.NewPool(config.Upstreams{
		Chains: map[string]config.ChainUpstreams{string(id): {Upstreams: list}},
	}, time.Now)
	must(t, err)
	t.Cleanup(pool.Close)
	client, err := rpc.DialContext(t.Context(), s.Upstreams()[1].URL)
	must(t, err)
	t.Cleanup(client.Close)
	r := &realm{s, t, id, pool, toolbox.NewLedger(node.New(pool, chain.Links{}), nil, time.Now), client}
	testkit.Eventually(t, patience, func() bool { // a probe may time out on a busy machine
		r.probe()
		on, _ := pool.Chain(id)
		return on.Availability(chain.Data) == upstream.Live ||
			(o.NoData && on.Availability(chain.Data) == upstream.Absent)
	}, "the probes do not see what the upstreams are capable of")
	return r
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// probe measures the upstreams again.
func (r *realm) probe() {
	r.t.Helper()
	snapshot, err := r.pool.Probe(r.t.Context(), r.id)
	must(r.t, err)
	on, _ := r.pool.Chain(r.id)
	on.Apply(snapshot)
}

func (r *realm) call(result any, method string, args ...any) {
	r.t.Helper()
	must(r.t, r.client.CallContext(r.t.Context(), result, method, args...))
}

// requests returns the number of requests to the upstreams so far.
func (r *realm) requests() (n int64) {
	for _, u := range r.Upstreams() {
		n += u.Requests()
	}
	return n
}

// contract returns the code of a contract in solidity/testdata/Tokens.sol.
func contract(t *testing.T, name string, args ...any) []byte {
	t.Helper()
	text, err := os.ReadFile("solidity/testdata/Tokens.json")
	must(t, err)
	var file struct {
		Contracts map[string]struct {
			ABI      abi.ABI       `json:"abi"`
			Bytecode hexutil.Bytes `json:"bytecode"`
		} `json:"contracts"`
	}
	must(t, json.Unmarshal(text, &file))
	made, ok := file.Contracts[name]
	if !ok {
		t.Fatalf("there is no contract %s", name)
	}
	packed, err := made.ABI.Pack("", args...)
	must(t, err)
	return append(made.Bytecode, packed...)
}

// deploy deploys contracts from the second funded account, waits for them, and returns their
// addresses.
func (r *realm) deploy(codes ...[]byte) (addresses []common.Address) {
	r.t.Helper()
	from := r.Accounts()[1]
	var nonce hexutil.Uint64
	var id hexutil.Big
	r.call(&nonce, "eth_getTransactionCount", from.Address, "pending")
	r.call(&id, "eth_chainId")
	var last common.Hash
	for i, code := range codes {
		n := uint64(nonce) + uint64(i) //nolint:gosec // small
		tx, err := types.SignNewTx(from.Key, types.LatestSignerForChainID(id.ToInt()), &types.DynamicFeeTx{
			ChainID: id.ToInt(), Nonce: n, Gas: params.MaxTxGas, Data: code, GasTipCap: big.NewInt(params.GWei),
			GasFeeCap: big.NewInt(50 * params.GWei),
		})
		must(r.t, err)
		raw, err := tx.MarshalBinary()
		must(r.t, err)
		r.call(&last, "eth_sendRawTransaction", hexutil.Bytes(raw))
		addresses = append(addresses, crypto.CreateAddress(from.Address, n))
	}
	r.mined(last)
	return addresses
}

func (r *realm) mined(hash common.Hash) {
	r.t.Helper()
	testkit.Eventually(r.t, patience, func() bool {
		var receipt *types.Receipt
		r.call(&receipt, "eth_getTransactionReceipt", hash)
		if receipt != nil && receipt.Status != types.ReceiptStatusSuccessful {
			r.t.Fatalf("%s failed", hash)
		}
		return receipt != nil
	}, "the transaction is not mined")
}

func (r *realm) balances(address string) toolbox.Balances {
	r.t.Helper()
	got, err := r.ledger.Balances(r.t.Context(), r.id, address)
	must(r.t, err)
	return got
}

// holder is an address that nobody else sends anything to.
var holder = common.HexToAddress("0x00000000000000000000000000000000C0Ffee01")

func TestBalances_HundredTokensTakeOneRequestOfEachSource(t *testing.T) {
	t.Parallel()
	r := openRealm(t, chain.EthMainnet, sandbox.Options{})
	// As many as one transaction's gas allows, four times; one less, because the index always
	// includes USDC, of which the holder has none.
	counts := []int64{25, 25, 25, 24}
	var codes [][]byte
	for _, n := range counts {
		codes = append(codes, contract(t, "Mint", holder, big.NewInt(n)))
	}
	var want []string
	for i, factory := range r.deploy(codes...) {
		for n := range uint64(counts[i]) { //nolint:gosec // positive
			want = append(want, crypto.CreateAddress(factory, n+1).Hex())
		}
	}
	before := r.requests()
	first := r.balances(holder.Hex())
	if asked := r.requests() - before; asked != 3 {
		t.Errorf("%d requests: want one for the coin, one for the tokens, one for what they are called", asked)
	}
	before = r.requests()
	again := r.balances(holder.Hex())
	if asked := r.requests() - before; asked != 2 {
		t.Errorf("%d requests when the tokens are known: want one for the coin, one for the tokens", asked)
	}
	var got []string
	for i, token := range first.Tokens {
		if token.Symbol == nil || *token.Symbol != "PLAIN" {
			continue
		}
		got = append(got, token.Contract)
		expect.Equal(t, *token.Name, "Plain Token")
		expect.Equal(t, token.Balance, "1500000")
		expect.Equal(t, *token.Formatted, "1.5")
		expect.Equal(t, *again.Tokens[i].Symbol, "PLAIN")
	}
	slices.Sort(want)
	slices.SortFunc(got, strings.Compare)
	if !slices.Equal(got, want) || len(first.Tokens) != len(want) {
		t.Errorf("%d of %d tokens, %d in all", len(got), len(want), len(first.Tokens))
	}
}

func TestBalances_HostileTokenTextsHarmNobody(t *testing.T) {
	t.Parallel()
	r := openRealm(t, chain.BaseMainnet, sandbox.Options{})
	wordOf := func(n uint64) []byte { return common.BigToHash(new(big.Int).SetUint64(n)).Bytes() }
	text := func(s string) []byte {
		return slices.Concat(wordOf(32), wordOf(uint64(len(s))), []byte(s), make([]byte, (32-len(s)%32)%32))
	}
	all := ^uint64(0)
	hostile := map[string][]byte{
		"plain": contract(t, "PlainToken", holder), "bytes32": contract(t, "Bytes32Token", holder),
		"silent": contract(t, "SilentToken", holder), "burning": contract(t, "BurningToken", holder),
		"long":            contract(t, "LongToken", holder, big.NewInt(60_000)),
		"longer than gas": contract(t, "LongToken", holder, big.NewInt(5_000_000)),
		"control":         contract(t, "RawToken", holder, text("a\x00\x07\u202eb")),
		"not UTF-8":       contract(t, "RawToken", holder, text("\xff\xfeok\xc3")),
		"far offset":      contract(t, "RawToken", holder, slices.Concat(wordOf(all), wordOf(4), text("x"))),
		"huge size": contract(t, "RawToken", holder, slices.Concat(wordOf(32), common.Hash{0: 0xff}.Bytes(),
			[]byte("four"))),
		"short":          contract(t, "RawToken", holder, []byte("abc")),
		"number":         contract(t, "RawToken", holder, wordOf(300)),
		"33 bytes":       contract(t, "RawToken", holder, make([]byte, 33)),
		"63 bytes":       contract(t, "RawToken", holder, slices.Concat(wordOf(32), make([]byte, 31))),
		"only an offset": contract(t, "RawToken", holder, slices.Concat(wordOf(32), wordOf(0))),
		"self-reference": contract(t, "RawToken", holder, slices.Concat(wordOf(0), wordOf(0))),
	}
	names, codes := make([]string, 0, len(hostile)), make([][]byte, 0, len(hostile))
	for name, code := range hostile {
		names, codes = append(names, name), append(codes, code)
	}
	addresses := r.deploy(codes...)
	shown := map[string]string{}
	got := r.balances(holder.Hex())
	for _, token := range got.Tokens {
		if i := slices.Index(addresses, common.HexToAddress(token.Contract)); i >= 0 {
			line := "-"
			if token.Symbol != nil {
				line = *token.Symbol
			}
			if token.Decimals != nil {
				line += " " + *token.Formatted
			}
			shown[names[i]] = line
		}
	}
	for name, want := range map[string]string{
		"plain": "PLAIN 1.5", "bytes32": "OLD 2", "silent": "-", "burning": "-",
		"long": "- 0.00000000000000000000000000000006", "longer than gas": "-",
		"control": "ab 0.00000000000000000000000000000004", "not UTF-8": "ok 0.00000000000000000000000000000004",
		"far offset": "-", "huge size": "four 0.00000000000000000000000000000004", "short": "-", "number": "-",
		"33 bytes": "- 4", "63 bytes": "- 0.00000000000000000000000000000004",
		"only an offset": "- 0.00000000000000000000000000000004", "self-reference": "- 4",
	} {
		t.Run(name, func(t *testing.T) {
			if shown[name] != want {
				t.Errorf("%s is shown as %q, want %q", name, shown[name], want)
			}
		})
	}
	if strings.Contains(got.TokensNote, "could not be asked") {
		t.Errorf("the note is %q", got.TokensNote)
	}
}

// TestTokenFacts_StopsBeforeItsGasIsGone sends the contract less gas than its tokens burn.
func TestTokenFacts_StopsBeforeItsGasIsGone(t *testing.T) {
	t.Parallel()
	r := openRealm(t, chain.BaseMainnet, sandbox.Options{NoData: true})
	tokens := r.deploy(contract(t, "BurningToken", holder), contract(t, "BurningToken", holder),
		contract(t, "PlainToken", holder))
	var file struct {
		ABI      abi.ABI       `json:"abi"`
		Bytecode hexutil.Bytes `json:"bytecode"`
	}
	text, err := os.ReadFile("solidity/TokenFacts.json")
	must(t, err)
	must(t, json.Unmarshal(text, &file))
	list, err := file.ABI.Pack("", tokens)
	must(t, err)
	burnt, plain, notAsked := []byte{1, 0, 0, 0}, []byte("\x02\x06\x05PLAIN\x0bPlain Token"), []byte{0}
	seen := map[string]bool{}
	for gas := uint64(100_000); gas <= 3_000_000; gas += 100_000 {
		var answer hexutil.Bytes
		call := map[string]any{"data": slices.Concat(file.Bytecode, list), "gas": hexutil.Uint64(gas)}
		if err := r.client.CallContext(t.Context(), &answer, "eth_call", call, "latest"); err != nil {
			if gas >= 1_000_000 {
				t.Errorf("with %d gas it fails: %v", gas, err)
			}
			continue
		}
		seen[string(answer)] = true
	}
	for name, want := range map[string][]byte{
		"no token":    slices.Concat([]byte{1}, notAsked, notAsked, notAsked),
		"one token":   slices.Concat([]byte{1}, burnt, notAsked, notAsked),
		"all of them": slices.Concat([]byte{1}, burnt, burnt, plain),
	} {
		t.Run(name, func(t *testing.T) {
			if !seen[string(want)] {
				t.Errorf("no amount of gas is enough for %s and not for more", name)
			}
		})
	}
}

func TestHistory_OverRealTraffic(t *testing.T) {
	t.Parallel()
	r := openRealm(t, chain.ArbitrumOne, sandbox.Options{})
	owner := r.Accounts()[2].Address
	page := toolbox.HistoryPage{Chain: r.id, Address: owner.Hex(), Limit: 2}
	seen, pages, newest := map[string]bool{}, 0, uint64(0)
	for ; ; pages++ {
		got, err := r.ledger.History(t.Context(), page)
		must(t, err)
		for _, tr := range got.Transfers {
			expect.False(t, seen[tr.ID])
			expect.Equal(t, tr.Direction, "in")
			require.NotNil(t, tr.To)
			expect.Equal(t, *tr.To, owner.Hex())
			expect.NotNil(t, tr.Timestamp)
			expect.NotNil(t, tr.ValueRaw)
			seen[tr.ID], newest = true, max(newest, tr.BlockNumber)
		}
		if got.NextCursor == nil {
			break
		}
		page.Cursor = *got.NextCursor
	}
	var logs []types.Log
	r.call(&logs, "eth_getLogs", map[string]any{
		"fromBlock": "0x0", "toBlock": hexutil.Uint64(newest), "topics": []any{
			crypto.Keccak256Hash([]byte("Transfer(address,address,uint256)")), nil, common.BytesToHash(owner[:]),
		},
	})
	missing := 0
	for _, l := range logs {
		if !seen[l.TxHash.Hex()+":log:"+new(big.Int).SetUint64(uint64(l.Index)).String()] {
			missing++
		}
	}
	expect.AtMost(t, missing, 0)
	expect.NotEmpty(t, logs)
	expect.AtLeast(t, pages, 2)
	expect.Greater(t, len(seen), len(logs), seen)
}

func TestData_IsRefusedWhileItsProviderIsAway(t *testing.T) {
	t.Parallel()
	r := openRealm(t, chain.OptimismMainnet, sandbox.Options{})
	owner := r.Accounts()[0].Address.Hex()
	r.balances(owner)
	refused := func(when string) {
		t.Helper()
		_, ofBalances := r.ledger.Balances(t.Context(), r.id, owner)
		_, ofHistory := r.ledger.History(t.Context(), toolbox.HistoryPage{Chain: r.id, Address: owner, Limit: 5})
		for what, err := range map[string]error{"balances": ofBalances, "history": ofHistory} {
			f, ok := errors.AsType[*fault.Error](err)
			in := expect.In(t, "%s, %s", when, what)
			require.True(in, ok, err)
			expect.Equal(in, f.Reason, fault.NoUpstream)
			expect.Greater(in, f.RetryAfter, 0)
		}
	}
	must(t, r.Upstreams()[0].Stop())
	refused("before a probe saw it")
	r.probe()
	before := r.requests()
	refused("after a probe saw it")
	if asked := r.requests() - before; asked != 0 {
		t.Errorf("%d requests although it is known that nobody has the data", asked)
	}
	must(t, r.Upstreams()[0].Start())
	r.probe()
	testkit.Eventually(t, patience, func() bool {
		_, err := r.ledger.Balances(t.Context(), r.id, owner)
		if err != nil {
			r.probe()
		}
		return err == nil
	}, "balances do not come back")
}

func TestBalances_ChainWithoutAnIndexHasNativeOnly(t *testing.T) {
	t.Parallel()
	r := openRealm(t, chain.PolygonPoS, sandbox.Options{NoData: true})
	owner := r.Accounts()[0].Address
	var balance hexutil.Big
	r.call(&balance, "eth_getBalance", owner, "latest")
	got := r.balances(owner.Hex())
	expect.Nil(t, got.Tokens)
	expect.Contains(t, got.TokensNote, "not known")
	expect.NotEqual(t, got.Native.Balance, "0")
	expect.Len(t, got.Native.Balance, len(balance.ToInt().String()))
	_, err := r.ledger.History(context.WithoutCancel(t.Context()), toolbox.HistoryPage{
		Chain: r.id, Address: owner.Hex(), Limit: 5,
	})
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Reason != fault.NoUpstream {
		t.Errorf("history: %v", err)
	}
}

func TestBalances_SolanaTokensOfBothProgramsAreListed(t *testing.T) {
	t.Parallel()
	r := openRealm(t, chain.SolanaMainnet, sandbox.Options{})
	got := r.balances(r.SolanaAccounts()[0].Address)
	require.Equal(t, got.Native.Formatted, "1000")
	require.Equal(t, got.Native.Symbol, "SOL")
	require.Len(t, got.Tokens, 2)
	pyusd, usdc := got.Tokens[0], got.Tokens[1]
	expect.Equal(t, usdc.Standard, "spl-token", got.Tokens)
	expect.Equal(t, usdc.Balance, "1000000000", got.Tokens)
	expect.Equal(t, *usdc.Formatted, "1000", got.Tokens)
	expect.Equal(t, pyusd.Standard, "spl-token-2022", got.Tokens)
	expect.Equal(t, *pyusd.Formatted, "250", got.Tokens)
	nobody := r.balances("SysvarC1ock11111111111111111111111111111111")
	if len(nobody.Tokens) != 0 || nobody.Tokens == nil {
		t.Errorf("who has no tokens: %+v", nobody)
	}
}

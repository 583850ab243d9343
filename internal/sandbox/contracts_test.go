package sandbox

import (
	"encoding/json"
	"errors"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/chainaccess/gateway/internal/sandbox/contracts"
	"github.com/chainaccess/gateway/internal/sandbox/internal/genesis"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
)

// contract is a contract of the sandbox that is called through an upstream.
type contract struct {
	contracts.Contract
	at  common.Address
	url string
}

func (s *Sandbox) contract(t *testing.T, id chain.ID, name string, at common.Address) contract {
	t.Helper()
	c, err := contracts.Named(name)
	must(t, err)
	return contract{Contract: c, at: at, url: s.upstream(t, id, 0).URL}
}

// ask calls a function and returns its results.
func (c contract) ask(t *testing.T, method string, args ...any) []any {
	t.Helper()
	out, err := c.try(t, method, args...)
	if err != nil {
		t.Fatalf("%s.%s: %v", c.Name, method, err)
	}
	return out
}

func (c contract) try(t *testing.T, method string, args ...any) ([]any, error) {
	t.Helper()
	input, err := c.ABI.Pack(method, args...)
	must(t, err)
	var answer hexutil.Bytes
	if err := call(t, c.url, "eth_call", &answer, map[string]any{"to": c.at, "data": hexutil.Bytes(input)},
		"latest"); err != nil {
		return nil, err
	}
	return c.ABI.Unpack(method, answer)
}

// refused returns the custom error of a reverted call: its name and arguments.
func (c contract) refused(t *testing.T, method string, args ...any) (string, []any) {
	t.Helper()
	out, err := c.try(t, method, args...)
	refusal, ok := errors.AsType[*rpcError](err)
	if !ok {
		t.Fatalf("%s.%s answered %v, %v, want a revert", c.Name, method, out, err)
	}
	var raw hexutil.Bytes
	must(t, json.Unmarshal(refusal.Data, &raw))
	for name, e := range c.ABI.Errors {
		if len(raw) >= 4 && [4]byte(raw) == [4]byte(e.ID[:4]) {
			values, err := e.Inputs.Unpack(raw[4:])
			must(t, err)
			return name, values
		}
	}
	t.Fatalf("%s.%s reverted with %s", c.Name, method, raw)
	return "", nil
}

// named returns the name that package abi gives to one of several overloaded functions.
func (c contract) named(t *testing.T, signature string) string {
	t.Helper()
	for name, method := range c.ABI.Methods {
		if method.Sig == signature {
			return name
		}
	}
	t.Fatalf("%s has no function %s", c.Name, signature)
	return ""
}

// dns encodes a name in the DNS wire format that resolvers take.
func dns(name string) (encoded []byte) {
	for label := range strings.SplitSeq(name, ".") {
		encoded = append(append(encoded, byte(len(label))), label...) //nolint:gosec // names of tests are short
	}
	return append(encoded, 0)
}

func addrCall(t *testing.T, name string) []byte {
	t.Helper()
	c, err := contracts.Named("PublicResolver")
	must(t, err)
	input, err := c.ABI.Pack("addr", genesis.Namehash(name))
	must(t, err)
	return input
}

func TestUniversalResolver_AnswersWhatIsOnTheChain(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Chains: []chain.ID{chain.EthMainnet}})
	universal := s.contract(t, chain.EthMainnet, "UniversalResolver", UniversalResolver)
	accounts := s.Accounts()
	for name, want := range map[string]common.Address{
		ENSRoot: accounts[0].Address, ENSAlice: accounts[1].Address, ENSBob: accounts[2].Address, ENSEmpty: {},
		"zoe." + ENSWildcard: ENSWildcardAddress("zoe"), "a.b." + ENSWildcard: ENSWildcardAddress("a"),
	} {
		t.Run(name, func(t *testing.T) {
			out := universal.ask(t, "resolve", dns(name), addrCall(t, name))
			answer, _ := out[0].([]byte)
			if len(answer) != 32 || common.BytesToAddress(answer) != want {
				t.Errorf("%s resolves to %x, want %s", name, answer, want)
			}
			if resolver, _ := out[1].(common.Address); resolver != PublicResolver &&
				resolver != genesis.WildcardResolver {
				t.Errorf("%s was answered by %s", name, resolver)
			}
		})
	}
	for name, want := range map[string]string{
		ENSNobody: "ResolverNotFound", "example.com": "ResolverNotFound", "x." + ENSAlice: "ResolverNotFound",
		ENSNoCode: "ResolverNotContract", ENSSilent: "UnsupportedResolverProfile", ENSReverting: "ResolverError",
	} {
		t.Run(name, func(t *testing.T) {
			if got, _ := universal.refused(t, "resolve", dns(name), addrCall(t, name)); got != want {
				t.Errorf("%s is refused with %s, want %s", name, got, want)
			}
		})
	}
	_, args := universal.refused(t, "resolve", dns("x."+ENSWildcard), []byte{1, 2, 3, 4})
	if args[0] != [4]byte{1, 2, 3, 4} {
		t.Errorf("the profile that is not supported is %x", args[0])
	}
	if got, _ := universal.refused(t, "resolve", []byte{9, 'a', 0}, addrCall(t, ENSAlice)); got != "DNSDecodingFailed" {
		t.Errorf("a broken name is refused with %s", got)
	}
}

func TestUniversalResolver_ConfirmsPrimaryNames(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Chains: []chain.ID{chain.EthMainnet}})
	universal := s.contract(t, chain.EthMainnet, "UniversalResolver", UniversalResolver)
	accounts, ether := s.Accounts(), big.NewInt(60)
	for i, want := range map[int]string{0: ENSRoot, 1: ENSAlice, 2: ENSBob, 6: ""} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			out := universal.ask(t, "reverse", accounts[i].Address.Bytes(), ether)
			if out[0] != want || out[2] != PublicResolver {
				t.Errorf("account %d is %v, want %q", i, out, want)
			}
		})
	}
	if out := universal.ask(t, "reverse", accounts[1].Address.Bytes(),
		big.NewInt(0x80000000|8453)); out[0] != ENSAlice {
		t.Errorf("on Base account 1 is %v", out)
	}
	name, args := universal.refused(t, "reverse", accounts[3].Address.Bytes(), ether)
	found, _ := args[1].([]byte)
	in := expect.In(t, "a name of somebody else is refused")
	expect.Equal(in, name, "ReverseAddressMismatch")
	expect.Equal[any](in, args[0], ENSAlice)
	expect.Equal(in, common.BytesToAddress(found), accounts[1].Address)
	for i, want := range map[int]string{4: "ResolverNotFound", 7: "ResolverNotFound", 9: "ResolverNotFound"} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			if got, _ := universal.refused(t, "reverse", accounts[i].Address.Bytes(), ether); got != want {
				t.Errorf("account %d is refused with %s, want %s", i, got, want)
			}
		})
	}
	if got, _ := universal.refused(t, "reverse", []byte{}, ether); got != "EmptyAddress" {
		t.Errorf("no address is refused with %s", got)
	}
}

func TestUniversalResolver_TakesSeveralQuestionsAtOnce(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Chains: []chain.ID{chain.EthMainnet}})
	universal := s.contract(t, chain.EthMainnet, "UniversalResolver", UniversalResolver)
	records, err := contracts.Named("PublicResolver")
	must(t, err)
	text, err := records.ABI.Pack("text", genesis.Namehash(ENSAlice), "url")
	must(t, err)
	many, err := contracts.Named("UniversalResolver")
	must(t, err)
	// multicall(bytes[]) is not in the resolver's ABI, so the call is encoded by hand.
	arguments := many.ABI.Methods["resolveWithGateways"].Inputs[2:]
	packed, err := arguments.Pack([]string{string(addrCall(t, ENSAlice)), string(text), "none"})
	must(t, err)
	out := universal.ask(t, "resolve", dns(ENSAlice), append(common.FromHex("0xac9650d8"), packed...))
	answer, _ := out[0].([]byte)
	unpacked, err := arguments.Unpack(answer) // bytes[] and string[] have the same encoding
	must(t, err)
	answers, _ := unpacked[0].([]string)
	require.Len(t, answers, 3)
	expect.Equal(t, common.BytesToAddress([]byte(answers[0])), s.Accounts()[1].Address)
	expect.Contains(t, answers[1], "https://")
}

func TestENS_RegistryAndResolverAnswerByThemselves(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Chains: []chain.ID{chain.EthMainnet}})
	registry := s.contract(t, chain.EthMainnet, "ENSRegistry", ENSRegistry)
	records := s.contract(t, chain.EthMainnet, "PublicResolver", PublicResolver)
	alice := genesis.Namehash(ENSAlice)
	if got := registry.ask(t, "resolver", alice)[0]; got != PublicResolver {
		t.Errorf("resolver %v", got)
	}
	if owner := registry.ask(t, "owner", alice)[0]; owner == (common.Address{}) ||
		registry.ask(t, "recordExists", alice)[0] != true {
		t.Errorf("owner %v", owner)
	}
	if registry.ask(t, "recordExists", genesis.Namehash(ENSNobody))[0] != false {
		t.Error("nobody exists")
	}
	if got := records.ask(t, "addr", alice)[0]; got != s.Accounts()[1].Address {
		t.Errorf("address %v", got)
	}
	if got := records.ask(t, "text", alice, "url")[0]; got != "https://sandbox.example/alice" {
		t.Errorf("text %v", got)
	}
}

func TestPriceFeeds_AreFreshWhereTheyShould(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Chains: []chain.ID{chain.EthMainnet}})
	for _, tc := range []struct {
		at     common.Address
		name   string
		answer int64
		fresh  bool
	}{
		{FeedETH, "ETH / USD", 2_941_37000000, true},
		{FeedBTC, "BTC / USD", 96_512_04000000, true},
		{FeedLINK, "LINK / USD", 14_28500000, true},
		{FeedStale, "STALE / USD", 14_28500000, false},
		{FeedZero, "ZERO / USD", 0, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			feed := s.contract(t, chain.EthMainnet, "PriceFeed", tc.at)
			round := feed.ask(t, "latestRoundData")
			answer, _ := round[1].(*big.Int)
			updated, _ := round[3].(*big.Int)
			answered, _ := round[4].(*big.Int)
			age := time.Since(time.Unix(updated.Int64(), 0))
			if begin := blockAt(t, feed.url, "0x0").Time; tc.fresh && updated.Uint64() <= uint64(begin) {
				t.Errorf("%s was not answered again since the genesis block", tc.name)
			}
			in := expect.In(t, "%s", tc.name)
			expect.Equal(in, answer.Int64(), tc.answer)
			expect.Equal(in, age < 10*time.Minute, tc.fresh)
			expect.NotEqual(in, round[0], nil)
			expect.Greater(in, answered.Sign(), 0)
			if feed.ask(t, "decimals")[0] != uint8(8) || feed.ask(t, "description")[0] != tc.name {
				t.Errorf("%s is %v", tc.name, feed.ask(t, "description"))
			}
			if _, err := feed.try(t, "getRoundData", big.NewInt(99)); err == nil ||
				!strings.Contains(err.Error(), "No data present") {
				t.Errorf("a round that never was: %v", err)
			}
		})
	}
}

func TestPriceFeeds_RepeatTheirAnswersAtEachStart(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Chains: []chain.ID{chain.EthMainnet}})
	for _, at := range []common.Address{FeedETH, FeedBTC, FeedLINK, FeedZero} {
		feed := s.contract(t, chain.EthMainnet, "PriceFeed", at)
		eventually(t, "a second round of "+at.Hex(), func() bool {
			id, _ := feed.ask(t, "latestRound")[0].(*big.Int)
			return id.Uint64() > 1 // the phase is in the bits above 64
		})
	}
}

func TestLayerTwos_SayWhatDataCosts(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Chains: []chain.ID{chain.BaseMainnet, chain.OptimismMainnet, chain.ArbitrumOne}})
	small, large := make([]byte, 120), make([]byte, 4_000)
	for i := range large {
		large[i] = byte(i * i >> 3) //nolint:gosec // arbitrary bytes
	}
	for _, id := range []chain.ID{chain.BaseMainnet, chain.OptimismMainnet} {
		oracle := s.contract(t, id, "GasPriceOracle", GasPriceOracle)
		cheap, _ := oracle.ask(t, "getL1Fee", small)[0].(*big.Int)
		dear, _ := oracle.ask(t, "getL1Fee", large)[0].(*big.Int)
		bound, _ := oracle.ask(t, "getL1FeeUpperBound", big.NewInt(int64(len(large))))[0].(*big.Int)
		// The minimum billed size is 100 bytes: 100 * (2269 * 16 * 2 gwei + 1055762 * 0.001 gwei) /
		// 10^6.
		if want := big.NewInt(100 * (2_269*16*2_000_000_000 + 1_055_762*1_000_000) / 1_000_000); cheap.Cmp(want) != 0 {
			t.Errorf("%s: zeros cost %s, want %s", id, cheap, want)
		}
		if dear.Cmp(cheap) <= 0 || bound.Cmp(dear) < 0 {
			t.Errorf("%s: 4,000 bytes cost %s, at most %s", id, dear, bound)
		}
	}
	node := s.contract(t, chain.ArbitrumOne, "NodeInterface", NodeInterface)
	all := node.ask(t, "gasEstimateComponents", s.Accounts()[0].Address, false, small)
	data := node.ask(t, "gasEstimateL1Component", s.Accounts()[0].Address, false, small)
	// (120 + 140) bytes * 16 gas * 2 gwei, in gas of 0.01 gwei; the rest is 21,000 and 4 per zero
	// byte.
	const gas = 260 * 16 * 200
	expect.Equal[any](t, data[0], uint64(gas))
	expect.Equal(t, all[1], data[0])
	expect.Equal[any](t, all[0], uint64(gas+21_000+480))
}

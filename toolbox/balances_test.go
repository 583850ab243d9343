package toolbox

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/toolbox/node"
)

const (
	usdc     = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
	dai      = "0x6B175474E89094C44Da98b954EedeAC495271d0F"
	solOwner = "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"
)

// shelf is a chain with an answer per method.
type shelf struct {
	standing upstream.Availability
	answers  map[string]func(params []any) any // JSON, an error, or a value to be marshalled

	mu    sync.Mutex // guards asked
	asked []node.Query
}

func (s *shelf) Availability(chain.ID, chain.Capability) upstream.Availability { return s.standing }

func (s *shelf) Call(_ context.Context, q node.Query) (json.RawMessage, error) {
	s.mu.Lock()
	s.asked = append(s.asked, q)
	s.mu.Unlock()
	answer, ok := s.answers[q.Method]
	if !ok {
		return nil, fmt.Errorf("%s was asked, which nobody expected", q.Method)
	}
	switch a := answer(q.Params).(type) {
	case error:
		return nil, a
	case string:
		return json.RawMessage(a), nil
	default:
		return json.Marshal(a)
	}
}

func (s *shelf) count(method string) (n int) {
	for _, q := range s.asked {
		if q.Method == method {
			n++
		}
	}
	return n
}

func always(answer any) func([]any) any { return func([]any) any { return answer } }

// tokensOf returns a page of alchemy_getTokenBalances.
func tokensOf(pageKey string, tokens ...any) map[string]any {
	page := map[string]any{"address": strings.ToLower(owner), "tokenBalances": tokens}
	if pageKey != "" {
		page["pageKey"] = pageKey
	}
	return page
}

func token(contract, balance string) map[string]any {
	return map[string]any{"contractAddress": strings.ToLower(contract), "tokenBalance": balance}
}

// factsFor answers TokenFacts' eth_call with the result of said for each token in the call, in
// order.
func factsFor(t *testing.T, said func(contract string) []byte) func([]any) any {
	t.Helper()
	return func(params []any) any {
		call, ok := params[0].(map[string]any)
		if !ok || call["to"] != nil {
			return fmt.Errorf("eth_call with %v", params)
		}
		data, _ := call["data"].(hexutil.Bytes)
		values, err := factsReader.arguments.Unpack(data[len(factsReader.code):])
		if err != nil {
			return err
		}
		list, _ := values[0].([]common.Address)
		answer := []byte{factsVersion}
		for _, c := range list {
			answer = append(answer, said(c.Hex())...)
		}
		return hexutil.Bytes(answer)
	}
}

func fact(decimals byte, symbol, name string) []byte {
	record := []byte{withDecimals, decimals, byte(len(symbol))}
	record = append(record, symbol...)
	return append(append(record, byte(len(name))), name...)
}

func shown(tokens []TokenBalance) (lines []string) {
	text := func(s *string) string {
		if s == nil {
			return "-"
		}
		return *s
	}
	for _, b := range tokens {
		decimals := "-"
		if b.Decimals != nil {
			decimals = fmt.Sprint(*b.Decimals)
		}
		lines = append(lines, strings.Join([]string{
			b.Contract, b.Standard, text(b.Symbol), text(b.Name), decimals, b.Balance, text(b.Formatted),
		}, " "))
	}
	return lines
}

func wantTokens(t *testing.T, got Balances, want ...string) {
	t.Helper()
	if !slices.Equal(shown(got.Tokens), want) {
		t.Errorf("tokens\n%s\nwant\n%s", strings.Join(shown(got.Tokens), "\n"), strings.Join(want, "\n"))
	}
}

func TestBalances_ERC20AreListedWithTokenFacts(t *testing.T) {
	t.Parallel()
	const odd, ether = "0x00000000000000000000000000000000000000AA", "0x0000000000000000000000000000000000000000"
	s := &shelf{standing: upstream.Live, answers: map[string]func([]any) any{
		"eth_getBalance": always("\"0xde0b6b3a7640001\""),
		"alchemy_getTokenBalances": always(tokensOf("",
			token(usdc, "0x00000000000000000000000000000000000000000000000000000000001e8480"), token(dai, "0x1"),
			token(odd, "0xff"), token("0x00000000000000000000000000000000000000bb", "0x0"), token(ether, "0x5"),
			token("0x0000000000000000000000000000000000001010", "0x9"), map[string]any{
				"contractAddress": strings.ToLower(other), "tokenBalance": nil, "error": "execution reverted",
			}, token("0x12", "0x1"),
		)),
		"eth_call": factsFor(t, func(c string) []byte {
			switch c {
			case usdc:
				return fact(6, "USDC", "USD Coin")
			case dai:
				return fact(200, "DAI\u202e", "\x00\xff\xfe")
			case odd:
				return []byte{withoutDecimals, 0, 0, 0}
			}
			return []byte{notAsked}
		}),
	}}
	l := ledgerOf(s)
	for round := range 2 {
		got, err := l.Balances(t.Context(), chain.EthMainnet, owner)
		if err != nil {
			t.Fatal(err)
		}
		wantTokens(t, got,
			odd+" erc20 - - - 255 -",
			"0x0000000000000000000000000000000000001010 erc20 - - - 9 -", // it is the native coin only on Polygon
			dai+" erc20 DAI - 200 1 -",
			usdc+" erc20 USDC USD Coin 6 2000000 2",
		)
		expect.Equal(t, got.Native, NativeBalance{"ETH", 18, "1000000000000000001", "1.000000000000000001"})
		expect.Equal(t, got.Address, owner)
		expect.Equal(t, got.CheckedAt, dataNow())
		if !strings.Contains(got.TokensNote, "could not be read: 2.") ||
			!strings.Contains(got.TokensNote, "could not be asked") {
			t.Errorf("the note is %q", got.TokensNote)
		}
		if s.count("eth_call") != round+1 { // for the token that was not asked
			t.Errorf("%d calls for names", s.count("eth_call"))
		}
	}
	got, err := l.Balances(t.Context(), chain.PolygonPoS, owner)
	in := expect.In(t, "on Polygon")
	require.NoError(in, err)
	expect.Len(in, got.Tokens, 3)
	expect.Equal(in, got.Native.Symbol, "POL")
	for _, q := range s.asked {
		if q.Supply != dataSupply || (q.Needs == chain.Data) != strings.HasPrefix(q.Method, "alchemy_") {
			t.Errorf("%s was asked of supply %q that has %q", q.Method, q.Supply, q.Needs)
		}
	}
}

func TestBalances_PagesOfTokensAreFollowedUpToABound(t *testing.T) {
	t.Parallel()
	endless, pages := true, 0
	s := &shelf{standing: upstream.Live, answers: map[string]func([]any) any{
		"eth_getBalance": always(`"0x0"`), "eth_call": always(fault.New(fault.UpstreamFailed, "")),
		"alchemy_getTokenBalances": func(params []any) any {
			if want := fmt.Sprintf("map[pageKey:key%d]", pages-1); len(params) == 3 && fmt.Sprint(params[2]) != want {
				return fmt.Errorf("page %d was asked for with %v, want %s", pages, params[2], want)
			}
			var tokens []any
			for i := range 150 {
				tokens = append(tokens, token(common.BigToAddress(big.NewInt(int64(1000*pages+i+1))).Hex(), "0x1"))
			}
			key := fmt.Sprintf("key%d", pages)
			if pages++; !endless && pages == 2 {
				key = ""
			}
			return tokensOf(key, tokens...)
		},
	}}
	got, err := ledgerOf(s).Balances(t.Context(), chain.BaseMainnet, owner)
	require.NoError(t, err)
	expect.Len(t, got.Tokens, maxTokens)
	expect.Equal(t, pages, maxTokenPages)
	expect.Contains(t, got.TokensNote, cutNote)
	if n := s.count("eth_call"); n != maxTokens/factsTogether {
		t.Errorf("%d calls for names", n)
	}
	endless, pages = false, 0
	got, err = ledgerOf(s).Balances(t.Context(), chain.BaseMainnet, owner)
	require.NoError(t, err)
	expect.Len(t, got.Tokens, 300)
	expect.NotContains(t, got.TokensNote, cutNote)
}

func TestBalances_FollowTheStandingOfTheirChain(t *testing.T) {
	t.Parallel()
	plain := map[string]func([]any) any{"eth_getBalance": always(`"0x1"`)}
	got, err := ledgerOf(&shelf{standing: upstream.Absent, answers: plain}).Balances(t.Context(), chain.BaseMainnet,
		owner)
	in := expect.In(t, "where no upstream has an index")
	require.NoError(in, err)
	expect.Nil(in, got.Tokens)
	expect.Equal(in, got.Native.Balance, "1")
	expect.Contains(in, got.TokensNote, "not known")
	away := &shelf{standing: upstream.Away, answers: plain}
	_, err = ledgerOf(away).Balances(t.Context(), chain.BaseMainnet, owner)
	refusedFor(t, err, fault.NoUpstream)
	_, err = ledgerOf(away).History(t.Context(), HistoryPage{Chain: chain.BaseMainnet, Address: owner, Limit: 1})
	refusedFor(t, err, fault.NoUpstream)
	_, err = ledgerOf(&shelf{standing: upstream.Absent}).History(t.Context(), HistoryPage{
		Chain: chain.BaseMainnet, Address: owner, Limit: 1,
	})
	refusedFor(t, err, fault.NoUpstream)
	if len(away.asked) > 0 {
		t.Errorf("%+v were asked although nobody can answer", away.asked)
	}
}

func TestBalances_FailLikeTheirUpstreams(t *testing.T) {
	t.Parallel()
	for _, f := range failures {
		s := &shelf{standing: upstream.Unmeasured, answers: map[string]func([]any) any{
			"eth_getBalance": always(`"0x1"`), "alchemy_getTokenBalances": always(f.err),
		}}
		_, err := ledgerOf(s).Balances(t.Context(), chain.EthMainnet, owner)
		refusedFor(t, err, f.want)
	}
	for name, test := range map[string]struct {
		method string
		answer any
		want   fault.Reason
	}{
		"no balance":           {"eth_getBalance", "null", fault.UpstreamFailed},
		"a number":             {"eth_getBalance", "5", fault.UpstreamFailed},
		"an error of the node": {"eth_getBalance", &node.Error{Code: -32000, Message: "busy"}, fault.UpstreamFailed},
		"tokens of another": {
			"alchemy_getTokenBalances", map[string]any{"address": other, "tokenBalances": []any{}}, fault.NoUpstream,
		},
		"no tokens":    {"alchemy_getTokenBalances", "null", fault.NoUpstream},
		"another form": {"alchemy_getTokenBalances", "[]", fault.NoUpstream},
	} {
		t.Run(name, func(t *testing.T) {
			answers := map[string]func([]any) any{
				"eth_getBalance": always(`"0x1"`), "alchemy_getTokenBalances": always(tokensOf("")),
			}
			answers[test.method] = always(test.answer)
			_, err := ledgerOf(&shelf{standing: upstream.Live, answers: answers}).Balances(t.Context(),
				chain.EthMainnet,
				owner)
			t.Log(name)
			refusedFor(t, err, test.want)
		})
	}
}

// What a malicious token makes an index write must not hide the tokens next to it.
func TestBalances_UnreadableEntryIsLeftOutAlone(t *testing.T) {
	t.Parallel()
	for name, entry := range map[string]any{
		"an immense balance": token(dai, "0x1"+strings.Repeat("0", 64)), "a decimal": token(dai, "12"),
		"a negative one": token(dai, "0x-1"), "a word of text": token(dai, "0xnothing"), "a number": map[string]any{
			"contractAddress": dai, "tokenBalance": 5,
		},
		"a list": map[string]any{"contractAddress": dai, "tokenBalance": []int{}}, "no address": token("0x12", "0x1"),
		"an address that is a number": map[string]any{"contractAddress": 12, "tokenBalance": "0x1"}, "null": nil,
		"a text": "0x1",
	} {
		t.Run(name, func(t *testing.T) {
			s := &shelf{standing: upstream.Live, answers: map[string]func([]any) any{
				"eth_getBalance":           always(`"0x1"`),
				"alchemy_getTokenBalances": always(tokensOf("", entry, token(usdc, "0x5"))),
				"eth_call":                 factsFor(t, func(string) []byte { return fact(6, "USDC", "USD Coin") }),
			}}
			got, err := ledgerOf(s).Balances(t.Context(), chain.EthMainnet, owner)
			in := expect.In(t, "%s", name)
			require.NoError(in, err)
			require.Len(in, got.Tokens, 1)
			expect.Equal(in, got.Tokens[0].Contract, usdc)
			expect.Contains(in, got.TokensNote, "could not be read: 1.")
		})
	}
}

func TestBalances_InvalidTokenFactsAreNotBelieved(t *testing.T) {
	t.Parallel()
	good := append([]byte{factsVersion}, fact(6, "USDC", "USD Coin")...)
	for name, answer := range map[string][]byte{
		"empty": nil, "another version": append([]byte{2}, good[1:]...), "cut": good[:len(good)-1],
		"longer": append(slices.Clone(good), 0), "another kind": append([]byte{factsVersion, 9}, good[2:]...),
		"a string": []byte("\x00\x00\x00\x20"), "no record": {factsVersion},
	} {
		t.Run(name, func(t *testing.T) {
			s := &shelf{standing: upstream.Live, answers: map[string]func([]any) any{
				"eth_getBalance": always(`"0x1"`), "alchemy_getTokenBalances": always(tokensOf("", token(usdc, "0x1"))),
				"eth_call": always(hexutil.Bytes(answer)),
			}}
			got, err := ledgerOf(s).Balances(t.Context(), chain.EthMainnet, owner)
			in := expect.In(t, "%s", name)
			require.NoError(in, err)
			require.Len(in, got.Tokens, 1)
			expect.Nil(in, got.Tokens[0].Symbol)
			expect.Nil(in, got.Tokens[0].Decimals)
			expect.Equal(in, got.Tokens[0].Balance, "1")
		})
	}
}

func contractsUpTo(n int) (list []wallet.Address) {
	for i := range n {
		list = append(list, wallet.Address(common.BigToAddress(big.NewInt(int64(i)))))
	}
	return list
}

func FuzzTokenFacts(f *testing.F) {
	f.Add(append([]byte{factsVersion}, fact(6, "USDC", "USD Coin")...), uint8(1))
	f.Add([]byte{factsVersion, notAsked, withoutDecimals, 0, 0, 0}, uint8(2))
	f.Fuzz(func(t *testing.T, answer []byte, count uint8) {
		contracts := contractsUpTo(int(count))
		facts, err := readFacts(answer, contracts)
		if len(facts) > len(contracts) || (err != nil && facts != nil) {
			t.Errorf("%d facts of %d contracts, %v", len(facts), len(contracts), err)
		}
	})
}

func TestBalances_SPLTokensAreAddedUpByMint(t *testing.T) {
	t.Parallel()
	const mintA, mintB = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", "2b1kV6DkPAnxd5ixfnxCpjxmKwqjjaYmCZfHsFu24GXo"
	holds := func(mint, of, amount string, decimals any) map[string]any {
		return map[string]any{
			"pubkey": mint,
			"account": map[string]any{"data": map[string]any{"program": "spl-token", "parsed": map[string]any{
				"type": "account", "info": map[string]any{
					"mint": mint, "owner": of, "tokenAmount": map[string]any{
						"amount": amount, "decimals": decimals, "uiAmount": 1.5,
					},
				},
			}}},
		}
	}
	s := &shelf{standing: upstream.Live, answers: map[string]func([]any) any{
		"getBalance": always(`{"context":{"slot":1},"value":18446744073709551615}`),
		"getTokenAccountsByOwner": func(params []any) any {
			program, _ := params[1].(map[string]string)
			list := []any{holds(mintB, solOwner, "18446744073709551615", 0)}
			if program["programId"] == "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA" {
				list = []any{
					holds(mintA, solOwner, "1500000", 6), holds(mintA, solOwner, "18446744073709551615", 6),
					holds(mintA, solOwner, "0", 6), holds("So11111111111111111111111111111111111111112", solOwner,
						"0", 9),
					map[string]any{"account": map[string]any{"data": []string{"AAAA", "base64"}}},
					holds(mintA, mintB, "7", 6),
					holds("nonsense", solOwner, "7", 6), holds(mintA, solOwner, "-7", 6),
					holds(mintA, solOwner, "1e9", 6), holds(mintA, solOwner, "7", nil),
				}
			}
			return map[string]any{"context": map[string]any{"slot": 1}, "value": list}
		},
	}}
	got, err := ledgerOf(s).Balances(t.Context(), chain.SolanaMainnet, solOwner)
	if err != nil {
		t.Fatal(err)
	}
	wantTokens(t, got,
		mintB+" spl-token-2022 - - 0 18446744073709551615 18446744073709551615",
		mintA+" spl-token - - 6 18446744073711051615 18446744073711.051615",
	)
	expect.Equal(t, got.Tokens[1].Accounts, 2)
	expect.Equal(t, got.Native.Formatted, "18446744073.709551615")
	expect.Contains(t, got.TokensNote, "could not be read: 6.")
	for _, p := range splPrograms {
		if !isSolanaKey(p.id) {
			t.Errorf("%s is no program", p.id)
		}
	}
	s.answers["getBalance"] = always(`{"value":null}`)
	_, err = ledgerOf(s).Balances(t.Context(), chain.SolanaMainnet, solOwner)
	refusedFor(t, err, fault.UpstreamFailed)
}

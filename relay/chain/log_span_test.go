package chain_test

import (
	"testing"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
)

func logsMethod(t *testing.T) *chain.Method {
	t.Helper()
	on, _ := chain.BuiltIn().Lookup("eth_mainnet")
	m, ok := on.Method([]byte("eth_getLogs"))
	if !ok {
		t.Fatal("no eth_getLogs")
	}
	return m
}

func TestLogSpan_ResolvesTheEndsOfARange(t *testing.T) {
	t.Parallel()
	m := logsMethod(t)
	for params, want := range map[string]chain.LogSpan{
		`[{"fromBlock":"0x10","toBlock":"0x1f"}]`:      {From: 16, To: 31, Divisible: true},
		`[{"fromBlock":"earliest","toBlock":"0x1f"}]`:  {From: 0, To: 31, Divisible: true},
		`[{"fromBlock":"0x10","toBlock":"latest"}]`:    {From: 16, To: 1000, ToTag: true, Divisible: true},
		`[{"fromBlock":"0x10","toBlock":null}]`:        {From: 16, To: 1000, ToTag: true, Divisible: true},
		`[{"fromBlock":"0x10"}]`:                       {From: 16, To: 1000, ToTag: true, Divisible: true},
		`[{"toBlock":"0x3e8"}]`:                        {From: 1000, To: 1000, FromTag: true, Divisible: true},
		`[{"fromBlock":"0x10","toBlock":"finalized"}]`: {From: 16, To: 1000, ToTag: true},
		`[{"fromBlock":"safe","toBlock":"latest"}]`:    {From: 1000, To: 1000, FromTag: true, ToTag: true},
		`[]`: {From: 1000, To: 1000, FromTag: true, ToTag: true, Divisible: true},
		`[{"blockHash":null,"fromBlock":"0x1","toBlock":"0x1"}]`: {From: 1, To: 1, Divisible: true},
	} {
		t.Run(params, func(t *testing.T) {
			got, ok := m.LogSpan([]byte(params), chain.Heads{Latest: 1000})
			if !ok || got != want {
				t.Errorf("%s spans %+v, %t, want %+v", params, got, ok, want)
			}
		})
	}
	for _, params := range []string{
		`[{"blockHash":"0x12"}]`, `[{"fromBlock":"0x2","toBlock":"0x1"}]`, `[{"fromBlock":"0x2","fromBlock":"0x2"}]`,
		`["x"]`, `[{"fromBlock":"0x10","toBlock":"pending"}]`, `[{"fromBlock":"pending"}]`,
	} {
		if got, ok := m.LogSpan([]byte(params), chain.Heads{Latest: 1000}); ok {
			t.Errorf("%s spans %+v", params, got)
		}
	}
	on, _ := chain.BuiltIn().Lookup("eth_mainnet")
	other, _ := on.Method([]byte("eth_call"))
	if _, ok := other.LogSpan([]byte(`[{"fromBlock":"0x10"}]`), chain.Heads{Latest: 1000}); ok {
		t.Error("eth_call spans blocks")
	}
}

func TestWithLogRange_ChangesNothingButTheRange(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]string{
		`[{"fromBlock":"0x1","toBlock":"latest"}]`: `[{"fromBlock":"0xa","toBlock":"0x13"}]`,
		`[ {"address": ["0xab" , "0xcd"], "fromBlock":"0x1", "topics":[null,["0x1"]] } , "extra"]`: `[{` +
			`"fromBlock":"0xa","toBlock":"0x13","address":["0xab" , "0xcd"],"topics":[null,["0x1"]]},"extra"]`,
		`[{"\u0066romBlock":"0x1","blockHash":null,"address":"0xab"}]`: `[{"fromBlock":"0xa","toBlock":"0x13",` +
			`"address":"0xab"}]`,
		`[]`:     `[{"fromBlock":"0xa","toBlock":"0x13"}]`,
		``:       `[{"fromBlock":"0xa","toBlock":"0x13"}]`,
		`[null]`: `[{"fromBlock":"0xa","toBlock":"0x13"}]`,
	} {
		t.Run(params, func(t *testing.T) {
			if got := string(chain.WithLogRange([]byte(params), 10, 19)); got != want {
				t.Errorf("%s became %s, want %s", params, got, want)
			}
			span, ok := logsMethod(t).LogSpan(chain.WithLogRange([]byte(params), 10, 19), chain.Heads{Latest: 5})
			in := expect.In(t, "%s then spans", params)
			require.True(in, ok)
			expect.Equal(in, span.From, 10)
			expect.Equal(in, span.To, 19)
			expect.True(in, span.Divisible)
		})
	}
}

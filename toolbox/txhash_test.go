package toolbox

import (
	"strings"
	"testing"

	"github.com/mr-tron/base58"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/chain"
)

func TestTxHash_IsReadIntoOneForm(t *testing.T) {
	t.Parallel()
	shortest := strings.Repeat("1", 64) // zeros
	for _, tc := range []struct {
		on         chain.ID
		text, want string
	}{
		{chain.EthMainnet, someHash, someHash},
		{chain.ArbitrumOne, "0x" + strings.ToUpper(someHash[2:]), someHash},
		{chain.SolanaMainnet, someSig, someSig},
		{chain.SolanaMainnet, shortest, shortest},
	} {
		t.Run(string(tc.on), func(t *testing.T) {
			if got, refusal := ParseTxHash(tc.on, tc.text); refusal != nil || got != tc.want {
				t.Errorf("%s on %s: %s, %v", tc.text, tc.on, got, refusal)
			}
		})
	}
}

func TestTxHash_InvalidIsRefusedWithWhatTheChainTakes(t *testing.T) {
	t.Parallel()
	const evm, solana = "0x and 64 hexadecimal digits", "64 bytes in base58"
	for name, tc := range map[string]struct {
		on   chain.ID
		text string
		says []string
	}{
		"nothing":          {chain.EthMainnet, "", []string{evm}},
		"the prefix alone": {chain.EthMainnet, "0x", []string{evm}},
		"a digit short":    {chain.EthMainnet, someHash[:65], []string{evm}},
		"a digit long":     {chain.EthMainnet, someHash + "0", []string{evm}},
		"a letter too far": {chain.EthMainnet, someHash[:65] + "g", []string{evm}},
		"a capital X":      {chain.EthMainnet, "0X" + someHash[2:], []string{evm}},
		"white space":      {chain.EthMainnet, " " + someHash, []string{evm}},
		"no prefix":        {chain.EthMainnet, someHash[2:], []string{evm, "0x is missing"}},
		"an address": {
			chain.EthMainnet, "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", []string{evm, "address"},
		},
		"a signature of Solana":       {chain.PolygonPoS, someSig, []string{evm, "signature of Solana"}},
		"full-width digits":           {chain.EthMainnet, "0x" + strings.Repeat("\uff11", 64), []string{evm}},
		"nothing on Solana":           {chain.SolanaMainnet, "", []string{solana}},
		"a hash on Solana":            {chain.SolanaMainnet, someHash, []string{solana, "EVM chain"}},
		"small letters":               {chain.SolanaMainnet, strings.ToLower(someSig), []string{solana}},
		"not base58":                  {chain.SolanaMainnet, "0OIl" + someSig[4:], []string{solana}},
		"63 bytes":                    {chain.SolanaMainnet, base58.Encode(make([]byte, 63)), []string{solana}},
		"65 bytes":                    {chain.SolanaMainnet, base58.Encode(make([]byte, 65)), []string{solana}},
		"the key of an account":       {chain.SolanaMainnet, "11111111111111111111111111111111", []string{solana}},
		"a megabyte":                  {chain.SolanaMainnet, strings.Repeat("5", 1<<20), []string{solana}},
		"bytes that are no UTF-8":     {chain.SolanaMainnet, strings.Repeat("\xff", 88), []string{solana}},
		"a letter outside ASCII":      {chain.SolanaMainnet, "é" + someSig[2:], []string{solana}},
		"zero-width characters":       {chain.SolanaMainnet, someSig[:40] + "\u200b" + someSig[40:], []string{solana}},
		"a hash with a zero byte":     {chain.EthMainnet, someHash[:65] + "\x00", []string{evm}},
		"a signature and white space": {chain.SolanaMainnet, someSig + "\n", []string{solana}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, refusal := ParseTxHash(tc.on, tc.text)
			if refusal == nil || refusal.Reason != fault.FieldRefused {
				t.Fatalf("took it as %q, %v", got, refusal)
			}
			for _, words := range append(tc.says, "hash takes") {
				if !strings.Contains(refusal.Message, words) {
					t.Errorf("%q does not say %q", refusal.Message, words)
				}
			}
			if len(refusal.Message) > 300 {
				t.Errorf("%d bytes of message", len(refusal.Message))
			}
		})
	}
}

func FuzzNamesOfTransactionsAreStable(f *testing.F) {
	f.Add(someHash, true)
	f.Add(someSig, false)
	f.Fuzz(func(t *testing.T, text string, onEVM bool) {
		id := chain.SolanaMainnet
		if onEVM {
			id = chain.EthMainnet
		}
		once, refusal := ParseTxHash(id, text)
		if refusal != nil {
			return
		}
		if twice, refusal := ParseTxHash(id, once); refusal != nil || twice != once {
			t.Errorf("%q became %q, then %q, %v", text, once, twice, refusal)
		}
	})
}

package toolbox

import (
	"encoding/json"
	"errors"
	"maps"
	"math/big"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/toolbox/node"
)

func dataNow() time.Time { return time.Date(2026, 11, 2, 11, 0, 0, 0, time.UTC) }

func copyOf(m map[string]any) map[string]any { return maps.Clone(m) }

// refusedFor fails unless err is a fault with this reason, with RetryAfter if the reason has one.
func refusedFor(t *testing.T, err error, want fault.Reason) {
	t.Helper()
	f, ok := errors.AsType[*fault.Error](err)
	require.True(t, ok, err)
	expect.Equal(t, f.Reason, want)
	if want == fault.NoUpstream {
		expect.Greater(t, f.RetryAfter, 0)
	}
}

func TestAddresses_HaveOneFormOnEachChain(t *testing.T) {
	t.Parallel()
	const lamports = "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"
	for _, test := range []struct {
		chain chain.ID
		text  string
		want  string // empty: refused
		says  string
	}{
		{chain.EthMainnet, owner, owner, ""},
		{chain.BaseMainnet, strings.ToLower(owner), owner, ""},
		{chain.PolygonPoS, "0x" + strings.ToUpper(owner[2:]), owner, ""},
		{
			chain.EthMainnet, "0x0000000000000000000000000000000000000000",
			"0x0000000000000000000000000000000000000000", "",
		},
		{chain.EthMainnet, strings.Replace(owner, "F", "f", 1), "", "EIP-55"},
		{chain.EthMainnet, strings.ToUpper(owner), "", "40 hexadecimal"},
		{chain.EthMainnet, owner[2:], "", "40 hexadecimal"},
		{chain.EthMainnet, owner + "0", "", "40 hexadecimal"},
		{chain.EthMainnet, owner[:41], "", "40 hexadecimal"},
		{chain.EthMainnet, owner[:41] + "g", "", "40 hexadecimal"},
		{chain.EthMainnet, owner[:38] + "éé", "", "40 hexadecimal"},
		{chain.EthMainnet, " " + owner[:41], "", "40 hexadecimal"},
		{chain.EthMainnet, "", "", "40 hexadecimal"},
		{chain.EthMainnet, "vitalik.eth", "", "40 hexadecimal"},
		{chain.OptimismMainnet, lamports, "", "address of Solana; optimism_mainnet takes 0x"},
		{chain.SolanaMainnet, lamports, lamports, ""},
		{chain.SolanaMainnet, "11111111111111111111111111111111", "11111111111111111111111111111111", ""},
		{chain.SolanaMainnet, owner, "", "address of an EVM chain"},
		{chain.SolanaMainnet, strings.ToLower(lamports), "", "base58"},
		{chain.SolanaMainnet, lamports[:40], "", "base58"},
		{chain.SolanaMainnet, lamports + "1", "", "base58"},
		{chain.SolanaMainnet, "0OIl" + lamports[4:], "", "base58"},
		{chain.SolanaMainnet, strings.Repeat("1", 100_000), "", "base58"},
		{chain.SolanaMainnet, "", "", "base58"},
	} {
		t.Run(string(test.chain), func(t *testing.T) {
			got, refusal := ParseAddress(test.chain, test.text)
			if got != test.want || (refusal == nil) != (test.want != "") {
				t.Errorf("%s %.60q: %q, %v; want %q", test.chain, test.text, got, refusal, test.want)
			}
			if refusal != nil && (refusal.Reason != fault.FieldRefused ||
				!strings.Contains(refusal.Message, test.says)) {
				t.Errorf("%s %.60q: %s does not say %q", test.chain, test.text, refusal.Message, test.says)
			}
		})
	}
}

func TestLabels_AreFitToBeShown(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"USDC": "USDC", "  USD   Coin \n": "USD Coin", "": "", "\x00\x01\x02": "", "a\x00b": "ab", "\xff\xfeOK": "OK",
		"naïve 貨幣": "naïve 貨幣", "evil\u202etxt": "eviltxt", "zero\u200bwidth\u200d": "zerowidth", "\ufeffBOM": "BOM",
		"tag\U000e0041": "tag", "line\u2028break": "linebreak", "\u00a0no\u00a0break": "no break",
		"soft\u00adhyphen": "softhyphen", "hangul\u3164filler": "hangulfiller", "\ufffd": "",
		strings.Repeat("x", 33): strings.Repeat("x", 32), strings.Repeat("é", 50): strings.Repeat("é", 32),
		strings.Repeat("a ", 40): strings.TrimSpace(strings.Repeat("a ", 16)),
	} {
		t.Run(text, func(t *testing.T) {
			got := ""
			if shown := label(text, 32); shown != nil {
				got = *shown
			}
			if got != want {
				t.Errorf("%q is shown as %q, want %q", text, got, want)
			}
		})
	}
}

func FuzzLabel(f *testing.F) {
	f.Add("USD\u202eC", 8)
	f.Add("a b", 2)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if limit < 1 || limit > 100 {
			return
		}
		shown := label(text, limit)
		if shown == nil {
			return
		}
		in := expect.In(t, "%q", text)
		expect.NotEqual(in, *shown, "")
		expect.True(in, utf8.ValidString(*shown))
		expect.AtMost(in, utf8.RuneCountInString(*shown), limit)
		expect.Equal(in, strings.TrimSpace(*shown), *shown)
		if again := label(*shown, limit); again == nil || *again != *shown {
			t.Errorf("%q becomes %v when it is made fit again", *shown, again)
		}
	})
}

func TestQuantities_HaveBounds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`"0x0"`: "0", `"0x"`: "0", `"0x000f"`: "15",
		`"0x` + strings.Repeat("f", 64) + `"`: new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256),
			big.NewInt(1)).String(), `"0x1` + strings.Repeat("0", 64) + `"`: "", `"12"`: "", `12`: "", `"0x-1"`: "",
		`"0x_1"`: "", `"0xg"`: "", `""`: "", `true`: "", `"0X1"`: "",
	} {
		t.Run(text, func(t *testing.T) {
			var q quantity
			err := json.Unmarshal([]byte(text), &q)
			if got := (err == nil) == (want != ""); !got || (err == nil && q.String() != want) {
				t.Errorf("%.20s… is %v, %v; want %q", text, q.Int, err, want)
			}
		})
	}
}

// failures are ways in which reads of a chain fail, with the expected reasons.
var failures = map[string]struct {
	err  error
	want fault.Reason
}{
	"no usable answer": {fault.New(fault.UpstreamFailed, ""), fault.NoUpstream},
	"an error in band": {&node.Error{Code: -32000, Message: "index is down"}, fault.NoUpstream},
	"a time-out":       {fault.New(fault.UpstreamTimeout, ""), fault.UpstreamTimeout},
}

func TestHistory_FailsLikeItsUpstreams(t *testing.T) {
	t.Parallel()
	for name, f := range failures {
		x := &index{refuse: f.err}
		_, err := ledgerOf(x).History(t.Context(), HistoryPage{Chain: chain.EthMainnet, Address: owner, Limit: 5})
		if got, ok := errors.AsType[*fault.Error](err); !ok || got.Reason != f.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package toolbox

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/toolbox/node"
)

const testHeartbeat = time.Hour

// ofFeed returns the fake chain's key of a call of a feed.
func ofFeed(symbol, selector string) string {
	i := slices.IndexFunc(feeds, func(f feed) bool { return f.symbol == symbol })
	return strings.ToLower(feeds[i].address.Hex()) + " " + selector
}

const (
	roundSelector    = "0xfeaf968c"
	decimalsSelector = "0x313ce567"
)

func roundOf(answer int64, age time.Duration) string {
	at := noon.Add(-age).Unix()
	return wordsHex(77, answer, at, at, 77)
}

func readOne(t *testing.T, roundData, decimals any) (Price, error) {
	t.Helper()
	f := &fakeChain{
		t: t, answers: map[string]reply{
			ofFeed("btc", roundSelector): {roundData}, ofFeed("btc", decimalsSelector): {decimals},
		},
	}
	answer, err := NewPriceReader(f, testHeartbeat, atNoon).Read(t.Context(), "btc")
	for _, q := range f.asked {
		if q.Chain != chain.EthMainnet {
			t.Errorf("asked %s", q.Chain)
		}
	}
	return answer.Prices["btc"], err
}

func TestPrice_IsTheFeedsNewestAnswerInExactDecimals(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		round    string
		decimals int64
		price    string // empty for null
		stale    bool
	}{
		"fresh":                               {roundOf(6_812_345_000_000, time.Minute), 8, "68123.45", false},
		"a whole number":                      {roundOf(6_800_000_000_000, time.Minute), 8, "68000", false},
		"other decimals":                      {roundOf(6_812_345_000_000, time.Minute), 18, "0.000006812345", false},
		"no decimals":                         {roundOf(68_123, time.Minute), 0, "68123", false},
		"one unit":                            {roundOf(1, time.Minute), 8, "0.00000001", false},
		"heartbeat and a tenth to the second": {roundOf(100, 66*time.Minute), 2, "1", false},
		"a second older":                      {roundOf(100, 66*time.Minute+time.Second), 2, "1", true},
		"of the future, by its chain's clock": {roundOf(100, -time.Minute), 2, "1", false},
		"zero":                                {roundOf(0, time.Minute), 8, "", true},
		"below zero":                          {roundOf(-5, time.Minute), 8, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := readOne(t, tc.round, wordsHex(tc.decimals))
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Price; (got == nil) != (tc.price == "") || got != nil && *got != tc.price {
				t.Errorf("price %v, want %s", got, tc.price)
			}
			expect.Equal(t, p.Stale, tc.stale)
			expect.Equal(t, p.RoundID, "77")
			expect.Equal(t, p.Decimals, int(tc.decimals))
			require.NotNil(t, p.UpdatedAt)
			expect.Equal(t, p.UpdatedAt.Location(), time.UTC)
			if p.Feed != "0xF4030086522a5bEEa4988F8cA5B36dbC97BeE88c" {
				t.Errorf("feed %s", p.Feed)
			}
		})
	}
	p, err := readOne(t, wordsHex(77, 100, 0, 0, 77), wordsHex(8))
	in := expect.In(t, "a round that is not complete")
	require.NoError(in, err)
	expect.Nil(in, p.Price)
	expect.True(in, p.Stale)
	expect.Nil(in, p.UpdatedAt)
}

func TestPrice_InvalidFeedIsAFailureOfTheService(t *testing.T) {
	t.Parallel()
	good, eight := roundOf(100, time.Minute), wordsHex(8)
	for name, tc := range map[string]struct {
		round, decimals any
		want            fault.Reason
	}{
		"no contract":          {`"0x"`, `"0x"`, fault.UpstreamFailed},
		"four words":           {wordsHex(1, 2, 3, 4), eight, fault.UpstreamFailed},
		"six words":            {wordsHex(1, 2, 3, 4, 5, 6), eight, fault.UpstreamFailed},
		"after the year 9999":  {wordsHex(77, 100, 0, endOfTime, 77), eight, fault.UpstreamFailed},
		"a time of 256 bits":   {wordsHex(77, 100, 0, -1, 77), eight, fault.UpstreamFailed},
		"39 decimals":          {good, wordsHex(39), fault.UpstreamFailed},
		"decimals of 256 bits": {good, wordsHex(-1), fault.UpstreamFailed},
		"no decimals":          {good, `"0x"`, fault.UpstreamFailed},
		"decimals of 31 bytes": {good, `"0x` + strings.Repeat("00", 31) + `"`, fault.UpstreamFailed},
		"an odd digit":         {`"0x1"`, eight, fault.UpstreamFailed},
		"a revert":             {&node.Error{Code: 3, Message: "execution reverted"}, eight, fault.UpstreamFailed},
		"nobody to ask":        {good, fault.New(fault.NoUpstream, ""), fault.NoUpstream},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := readOne(t, tc.round, tc.decimals)
			wantFault(t, err, tc.want)
		})
	}
}

func TestPrices_AllAreGivenOrNone(t *testing.T) {
	t.Parallel()
	answers := map[string]reply{}
	for i, symbol := range []string{"eth", "btc", "link"} {
		answers[ofFeed(symbol, roundSelector)], answers[ofFeed(symbol, decimalsSelector)] = reply{
			roundOf(int64(i+1)*100, time.Minute),
		}, reply{wordsHex(2)}
	}
	f := &fakeChain{t: t, answers: answers}
	all, err := NewPriceReader(f, testHeartbeat, atNoon).Read(t.Context(), "eth,btc,link")
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, symbol := range []string{"eth", "btc", "link"} {
		got += fmt.Sprint(symbol, " ", *all.Prices[symbol].Price, " ")
	}
	expect.Equal(t, got, "eth 1 btc 2 link 3 ")
	expect.Equal(t, all.Quote, "usd")
	expect.NotEqual(t, all.Source, "")
	expect.True(t, all.CheckedAt.Equal(noon), all.CheckedAt)
	expect.Equal(t, all.CheckedAt.Location(), time.UTC)
	expect.Len(t, f.asked, 6)
	answers[ofFeed("link", decimalsSelector)] = reply{`"0x"`}
	some, err := NewPriceReader(&fakeChain{t: t, answers: answers}, testHeartbeat, atNoon).Read(t.Context(),
		"eth,btc,link")
	wantFault(t, err, fault.UpstreamFailed)
	if len(some.Prices) != 0 {
		t.Errorf("half an answer: %+v", some)
	}
}

func TestSymbols_AreReadIntoOneForm(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"": "eth,btc,link", ",": "eth,btc,link", " , ,": "eth,btc,link", "eth": "eth", "BTC,Eth": "eth,btc",
		"link,eth,btc": "eth,btc,link", " btc ,, btc,": "btc", strings.Repeat("eth,", 19) + "btc": "eth,btc",
	} {
		t.Run(given, func(t *testing.T) {
			got, refusal := ParseSymbols(given)
			if refusal != nil || got != want {
				t.Errorf("%q, %v", got, refusal)
			}
			if again, refusal := ParseSymbols(got); refusal != nil || again != got {
				t.Errorf("%q is no form of its own: %q, %v", got, again, refusal)
			}
		})
	}
	for _, given := range []string{
		"doge", "eth,doge", "eth btc", "eth;btc", "ETH/USD", "еth", "eth\u200b", "\xff", strings.Repeat("x", 5000),
		strings.Repeat("eth,", 20) + "eth", "0x", "*", "eth\x00",
	} {
		got, refusal := ParseSymbols(given)
		in := expect.In(t, "%.40q", given)
		require.NotNil(in, refusal, got)
		expect.Equal(in, refusal.Reason, fault.FieldRefused, got)
		expect.Contains(in, refusal.Message, "eth, btc, link", got)
		expect.AtMost(in, len(refusal.Message), 300, refusal.Message, got)
	}
}

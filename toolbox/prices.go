package toolbox

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/parallel"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
)

// Prices are the newest answers of Chainlink's feeds on Ethereum.
type Prices struct {
	Prices     map[string]Price `json:"prices" doc:"by symbol: eth, btc, link"`
	Quote      string           `json:"quote" doc:"what prices are in: usd"`
	Source     string           `json:"source" doc:"where they were read"`
	CheckedAt  time.Time        `json:"checked_at"`
	UnitWeight plan.Units       `json:"unit_weight" doc:"weighted units of a call that is not answered from the cache"`
}

// Price is the newest answer of a feed.
type Price struct {
	Price     *string    `json:"price" nullable:"true" doc:"in US dollars, an exact decimal string; null when the feed gives none above zero"`
	Stale     bool       `json:"stale" doc:"true when the price is older than the feed's heartbeat and a tenth of it, or none: do not trade on it"`
	UpdatedAt *time.Time `json:"updated_at" nullable:"true" doc:"when the feed took this price, by its chain's clock; null when it has none"`
	RoundID   string     `json:"round_id" doc:"the feed's round, a decimal string"`
	Decimals  int        `json:"decimals" doc:"decimals with which the feed keeps its prices"`
	Feed      string     `json:"feed" doc:"address of the feed on Ethereum"`
}

// feed is a price feed of Chainlink on Ethereum, quoted in US dollars.
type feed struct {
	symbol  string
	address common.Address
}

// feeds in the order in which they are listed (data.chain.link, Ethereum mainnet).
var feeds = []feed{
	{"eth", common.HexToAddress("0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419")},
	{"btc", common.HexToAddress("0xF4030086522a5bEEa4988F8cA5B36dbC97BeE88c")},
	{"link", common.HexToAddress("0x2c1d072e956AFFC0D435Cb7AC38EF18d24d9127c")},
}

const (
	priceSource = "Chainlink price feeds on Ethereum, read on chain"
	maxSymbols  = 20           // symbols that are read, repetitions included
	maxDecimals = 38           // no traded asset has as many
	endOfTime   = 253402300800 // seconds; RFC 3339 has no later years
)

// PriceReader reads price feeds.
type PriceReader struct {
	chains    caller
	heartbeat time.Duration // the longest time that a feed goes without an update
	now       func() time.Time
}

// NewPriceReader returns a PriceReader that reads from chains, for feeds with this heartbeat.
func NewPriceReader(chains caller, heartbeat time.Duration, now func() time.Time) *PriceReader {
	return &PriceReader{chains, heartbeat, now}
}

// ParseSymbols parses a comma-separated list of symbols and returns its canonical form: lower case,
// without duplicates, in the order of feeds. The empty list means all. It refuses an unknown symbol
// and names the known ones.
func ParseSymbols(list string) (string, *fault.Error) {
	named := strings.Split(list, ",")
	if len(named) > maxSymbols {
		return "", fault.New(fault.FieldRefused,
			"symbols takes at most %d symbols, separated by commas: %s are offered.", maxSymbols, offered())
	}
	wanted := map[string]bool{}
	for _, symbol := range named {
		symbol = strings.ToLower(strings.TrimSpace(symbol))
		if symbol == "" {
			continue
		}
		if !slices.ContainsFunc(feeds, func(f feed) bool { return f.symbol == symbol }) {
			return "", fault.New(fault.FieldRefused,
				"symbols: %.20q is not offered. It takes symbols separated by commas, of %s; leave it out for all.",
				symbol, offered())
		}
		wanted[symbol] = true
	}
	var known []string
	for _, f := range feeds {
		if wanted[f.symbol] || len(wanted) == 0 {
			known = append(known, f.symbol)
		}
	}
	return strings.Join(known, ","), nil
}

// offered returns the symbols for messages.
func offered() string {
	var all []string
	for _, f := range feeds {
		all = append(all, f.symbol)
	}
	return strings.Join(all, ", ")
}

// Read returns the prices of a list in canonical form (ParseSymbols). If one feed cannot be read,
// Read returns an error: nobody pays for part of an answer.
func (p *PriceReader) Read(ctx context.Context, symbols string) (Prices, error) {
	named := strings.Split(symbols, ",")
	wanted := make([]feed, 0, len(feeds))
	for _, f := range feeds {
		if slices.Contains(named, f.symbol) {
			wanted = append(wanted, f)
		}
	}
	found := make([]round, len(wanted))
	group, asking := parallel.WithContext(ctx)
	for i, f := range wanted {
		group.Go(func() error { return p.latest(asking, f, &found[i]) })
		group.Go(func() error { return p.decimals(asking, f, &found[i]) })
	}
	if err := group.Wait(); err != nil {
		return Prices{}, err
	}
	now := p.now()
	answer := Prices{
		Prices: make(map[string]Price, len(wanted)), Quote: "usd", Source: priceSource, CheckedAt: stamp(now),
	}
	for i, f := range wanted {
		answer.Prices[f.symbol] = found[i].price(f, now, p.heartbeat)
	}
	return answer, nil
}

// round is a feed's newest round. answeredInRound is ignored: Chainlink keeps it only for old
// contracts.
type round struct {
	id        *big.Int
	answer    *big.Int
	updatedAt *big.Int // seconds since 1970; 0 while the round is not complete
	decimals  int
}

var (
	latestRoundData = selector("latestRoundData()")
	feedDecimals    = selector("decimals()")
	errNoFeed       = errors.New("the result is not that of a price feed")
)

// latest reads latestRoundData() → (uint80 roundId, int256 answer, uint256 startedAt, uint256
// updatedAt, uint80 answeredInRound).
func (p *PriceReader) latest(ctx context.Context, f feed, into *round) error {
	result, err := ethCall(ctx, p.chains, chain.EthMainnet, f.address, latestRoundData)
	if err != nil {
		return err
	}
	if len(result) != 5*32 {
		return unusable(chain.EthMainnet, "latestRoundData of "+f.symbol, errNoFeed)
	}
	into.id, into.updatedAt = new(big.Int).SetBytes(result[:32]), new(big.Int).SetBytes(result[96:128])
	if into.answer = signed(result[32:64]); into.updatedAt.Cmp(big.NewInt(endOfTime)) >= 0 {
		return unusable(chain.EthMainnet, "latestRoundData of "+f.symbol, errNoFeed)
	}
	return nil
}

// decimals reads decimals() → (uint8).
func (p *PriceReader) decimals(ctx context.Context, f feed, into *round) error {
	result, err := ethCall(ctx, p.chains, chain.EthMainnet, f.address, feedDecimals)
	if err != nil {
		return err
	}
	n := new(big.Int).SetBytes(result)
	if len(result) != 32 || n.Cmp(big.NewInt(maxDecimals)) > 0 {
		return unusable(chain.EthMainnet, "decimals of "+f.symbol, fmt.Errorf("%w: %s decimals in %d bytes", errNoFeed,
			n, len(result)))
	}
	into.decimals = int(n.Int64())
	return nil
}

// price returns the price of a round. Its age is measured by the gateway's clock, so that a halted
// chain is noticed too.
func (r *round) price(f feed, now time.Time, heartbeat time.Duration) Price {
	p := Price{Stale: true, RoundID: r.id.String(), Decimals: r.decimals, Feed: f.address.Hex()}
	if r.updatedAt.Sign() == 0 {
		return p
	}
	updatedAt := time.Unix(r.updatedAt.Int64(), 0).UTC()
	p.UpdatedAt = &updatedAt
	if r.answer.Sign() > 0 {
		text := decimal(r.answer, r.decimals)
		p.Price, p.Stale = &text, now.Sub(updatedAt) > heartbeat+heartbeat/10
	}
	return p
}

// signed reads a word as a two's complement number.
func signed(word []byte) *big.Int {
	n := new(big.Int).SetBytes(word)
	if word[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), 256))
	}
	return n
}

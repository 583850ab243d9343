package genesis

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"
)

// Chainlink's feeds on Ethereum at their real addresses, and two broken feeds of ours.
var (
	FeedETH  = common.HexToAddress("0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419")
	FeedBTC  = common.HexToAddress("0xF4030086522a5bEEa4988F8cA5B36dbC97BeE88c")
	FeedLINK = common.HexToAddress("0x2c1d072e956AFFC0D435Cb7AC38EF18d24d9127c")
	// FeedStale was last updated two hours before the chain began and is never updated again.
	FeedStale = common.HexToAddress("0x5a4d00000000000000000000000000000000fee1")
	// FeedZero is fresh and its answer is 0.
	FeedZero = common.HexToAddress("0x5a4d00000000000000000000000000000000fee2")
)

// feedDecimals is the number of decimals of Chainlink's dollar feeds.
const feedDecimals uint8 = 8

const twoHours = 7_200

// Answers of the feeds in units of 10^-8 dollars.
const (
	dollarsETH  = 2_941_37000000
	dollarsBTC  = 96_512_04000000
	dollarsLINK = 14_28500000
)

func (b *builder) feeds(admin common.Address) {
	for _, feed := range []struct {
		at          common.Address
		description string
		answer      int64
	}{
		{FeedETH, "ETH / USD", dollarsETH},
		{FeedBTC, "BTC / USD", dollarsBTC},
		{FeedLINK, "LINK / USD", dollarsLINK},
		{FeedStale, "STALE / USD", dollarsLINK},
		{FeedZero, "ZERO / USD", 0},
	} {
		p := b.place(admin, feed.at, "PriceFeed", feed.description, feedDecimals, big.NewInt(feed.answer))
		if feed.at == FeedStale {
			b.send(admin, p, "submit", big.NewInt(feed.answer), b.evm.Context.Time-twoHours)
		}
	}
}

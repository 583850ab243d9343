package genesis

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"

	"github.com/chainaccess/gateway/relay/chain"
)

// usdcAt holds the real addresses of USDC's proxy and implementation.
var usdcAt = map[chain.ID]struct{ proxy, code common.Address }{
	chain.EthMainnet: {
		common.HexToAddress("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"),
		common.HexToAddress("0x43506849D7C04F9138D1A2050bbF3A0c054402dd"),
	},
	chain.BaseMainnet: {
		common.HexToAddress("0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"),
		common.HexToAddress("0x2Ce6311ddAE708829bc0784C967b7d77D19FD779"),
	},
	chain.ArbitrumOne: {
		common.HexToAddress("0xaf88d065e77c8cC2239327C5EDb3A432268e5831"),
		common.HexToAddress("0x86E721b43d4ECFa71119Dd38c0f938A75Fdb57B3"),
	},
	chain.OptimismMainnet: {
		common.HexToAddress("0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85"),
		common.HexToAddress("0xdEd3b9a8DBeDC2F9CB725B55d0E686A81E6d06dC"),
	},
	chain.PolygonPoS: {
		common.HexToAddress("0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359"),
		common.HexToAddress("0x235AE97b28466Db30469b89A9fe4cFf0659f82Cb"),
	},
}

var (
	signatureChecker = common.HexToAddress("0x5a4d000000000000000000000000000000005164")
	// proxyAdmin may upgrade USDC. It is used for nothing else, because the proxy does not forward
	// its admin's calls to the token.
	proxyAdmin = common.HexToAddress("0x5a4d00000000000000000000000000000000ad31")
)

// usdcUnit is 1 USDC, which has 6 decimals.
const usdcUnit = 1_000_000

// Initial balances in whole USDC.
const (
	usdcFunded = 1_000_000
	usdcAdmin  = 10_000_000
	usdcFaucet = 10_000_000
)

// FirstSpender and LastSpender delimit the funded accounts, [FirstSpender, LastSpender), that
// approve the admin to spend their USDC for the sandbox's traffic.
const (
	FirstSpender = 7
	LastSpender  = 10
)

// USDC returns the token's address on a chain; the zero address when it has none.
func USDC(id chain.ID) common.Address { return usdcAt[id].proxy }

// usdc deploys the token behind its proxy and initializes it through the same versions as the real
// one.
func (b *builder) usdc(id chain.ID, owners Owners) {
	at := usdcAt[id]
	b.place(owners.Minter, signatureChecker, "SignatureChecker")
	code := b.place(owners.Minter, at.code, "FiatTokenV2_2")
	b.placeProxy(zeppelin, at.code, proxyAdmin, at.proxy, "FiatTokenProxy", at.code)
	send := func(from common.Address, method string, args ...any) {
		b.sendTo(from, at.proxy, code.Contract.ABI, method, args...)
	}
	chief := owners.Minter
	send(chief, "initialize", "USD Coin", "USDC", "USD", uint8(6), chief, chief, chief, chief)
	send(chief, "initializeV2", "USD Coin")
	send(chief, "initializeV2_1", chief)
	send(chief, "initializeV2_2", []common.Address{}, "USDC")
	send(chief, "updateRescuer", chief)
	send(chief, "configureMinter", chief, usdc(1_000_000_000_000))
	for _, to := range owners.Funded {
		send(chief, "mint", to, usdc(usdcFunded))
	}
	send(chief, "mint", owners.Admin, usdc(usdcAdmin))
	send(chief, "mint", owners.Faucet, usdc(usdcFaucet))
	for _, from := range owners.Funded[FirstSpender:LastSpender] {
		send(from, "approve", owners.Admin, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1)))
	}
}

func usdc(whole int64) *big.Int { return new(big.Int).Mul(big.NewInt(whole), big.NewInt(usdcUnit)) }

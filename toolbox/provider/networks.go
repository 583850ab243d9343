package provider

import (
	"slices"
	"strings"

	"github.com/chainaccess/gateway/relay/chain"
)

// networks are the names in use for the gateway's chains, in lower case with hyphens.
var networks = map[string]chain.ID{
	"eth": chain.EthMainnet, "ethereum": chain.EthMainnet, "eth-mainnet": chain.EthMainnet,
	"ethereum-mainnet": chain.EthMainnet, "mainnet": chain.EthMainnet, "eth-main": chain.EthMainnet,
	"homestead": chain.EthMainnet, "1": chain.EthMainnet, "8453": chain.BaseMainnet, "42161": chain.ArbitrumOne,
	"10": chain.OptimismMainnet, "137": chain.PolygonPoS, "base": chain.BaseMainnet, "base-mainnet": chain.BaseMainnet,
	"arb": chain.ArbitrumOne, "arbitrum": chain.ArbitrumOne, "arb-mainnet": chain.ArbitrumOne,
	"arbitrum-mainnet": chain.ArbitrumOne, "arbitrum-one": chain.ArbitrumOne, "arb1": chain.ArbitrumOne,
	"arb-one": chain.ArbitrumOne, "opt": chain.OptimismMainnet, "op": chain.OptimismMainnet,
	"optimism": chain.OptimismMainnet, "opt-mainnet": chain.OptimismMainnet, "op-mainnet": chain.OptimismMainnet,
	"optimism-mainnet": chain.OptimismMainnet, "polygon": chain.PolygonPoS, "matic": chain.PolygonPoS,
	"polygon-mainnet": chain.PolygonPoS, "matic-mainnet": chain.PolygonPoS, "polygon-bor": chain.PolygonPoS,
	"polygon-pos": chain.PolygonPoS, "sol": chain.SolanaMainnet, "solana": chain.SolanaMainnet,
	"solana-mainnet": chain.SolanaMainnet, "mainnet-beta": chain.SolanaMainnet, "sol-mainnet": chain.SolanaMainnet,
	"solana-mainnet-beta": chain.SolanaMainnet,
}

// elsewhere are words in the names of other networks, including test networks. They are reported,
// and not served.
var elsewhere = []string{
	"sepolia", "goerli", "holesky", "hoodi", "amoy", "mumbai", "devnet", "testnet", "ropsten", "rinkeby", "kovan",
	"fuji", "chapel", "nova", "zkevm", "bsc", "bnb", "binance", "avalanche", "avax", "gnosis", "xdai", "linea",
	"scroll", "zksync", "blast", "mantle", "celo", "fantom", "sonic", "berachain", "unichain", "worldchain", "moonbeam",
	"cronos", "aurora", "harmony", "metis", "mode", "zora", "starknet", "near", "tron", "ton", "bitcoin", "btc", "sui",
	"aptos", "cosmos", "ronin", "monad", "abstract", "ink", "soneium",
}

// named returns the chain of a network's name; known reports whether it is a network at all.
func named(name string) (id chain.ID, known bool) {
	name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
	if id, ok := networks[name]; ok {
		return id, true
	}
	for part := range strings.SplitSeq(name, "-") {
		if slices.Contains(elsewhere, part) {
			return "", true
		}
	}
	return "", false
}

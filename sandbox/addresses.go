package sandbox

import (
	"github.com/ethereum/go-ethereum/common"

	"github.com/chainaccess/gateway/sandbox/internal/genesis"
)

// Names of the sandbox's ENS, on Ethereum. Accounts are those of Sandbox.Accounts.
const (
	ENSRoot      = genesis.Root       // account 0
	ENSAlice     = genesis.Alice      // account 1, whose primary name it is, here and on Base; text record "url"
	ENSBob       = genesis.Bob        // account 2, whose primary name it is
	ENSEmpty     = genesis.Empty      // has a resolver and no address
	ENSWildcard  = genesis.Wildcard   // every name below resolves to an address of its own: see ENSWildcardAddress
	ENSReverting = genesis.Reverting  // its resolver reverts with OutOfOffice(string)
	ENSSilent    = genesis.Silent     // its resolver answers nothing
	ENSNoCode    = genesis.NoContract // its resolver is no contract
	ENSNobody    = genesis.Nobody     // does not exist
	ENSOffchain  = genesis.Offchain   // names below are served by a gateway, which clients ask in batches
	ENSDirect    = genesis.Direct     // the same, its gateway asked directly
)

// ENSWildcardAddress is what label.wild.sandbox.eth resolves to.
func ENSWildcardAddress(label string) common.Address { return genesis.WildcardAddress(label) }

// Where contracts stand on the sandbox's chains: at the addresses that they have on the real ones.
var (
	ENSRegistry       = genesis.ENSRegistry       // eth_mainnet
	UniversalResolver = genesis.UniversalResolver // eth_mainnet
	PublicResolver    = genesis.PublicResolver    // eth_mainnet
	FeedETH           = genesis.FeedETH           // eth_mainnet, as the two that follow: Chainlink's, answered within the last ten minutes
	FeedBTC           = genesis.FeedBTC
	FeedLINK          = genesis.FeedLINK
	FeedStale         = genesis.FeedStale      // eth_mainnet: answered two hours before the chain began
	FeedZero          = genesis.FeedZero       // eth_mainnet: its answer is 0
	GasPriceOracle    = genesis.GasPriceOracle // base_mainnet and optimism_mainnet
	NodeInterface     = genesis.NodeInterface  // arbitrum_one
)

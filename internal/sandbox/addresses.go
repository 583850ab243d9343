package sandbox

import (
	"github.com/ethereum/go-ethereum/common"

	"github.com/chainaccess/gateway/internal/sandbox/internal/ccip"
	"github.com/chainaccess/gateway/internal/sandbox/internal/genesis"
	"github.com/chainaccess/gateway/relay/chain"
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
	ENSCarol     = genesis.Carol      // account 3, by the gateway in batches, by GET
	ENSDave      = genesis.Dave       // account 4, by the gateway asked directly, by POST
	ENSErin      = genesis.Erin       // account 5, whose primary name it is, by the gateway in batches

	// Below ENSOffchain and ENSDirect the gateway misbehaves for these; names that it does not know
	// have no address.
	ENSMissing = ccip.Missing + "." + ENSOffchain // 404
	ENSForged  = ccip.Forged + "." + ENSOffchain  // signed with another key
	ENSExpired = ccip.Expired + "." + ENSOffchain // signed for an hour ago
)

// ENSWildcardAddress is what label.wild.sandbox.eth resolves to.
func ENSWildcardAddress(label string) common.Address { return genesis.WildcardAddress(label) }

// Where contracts stand on the sandbox's chains: at the addresses that they have on the real ones.
var (
	ENSRegistry       = genesis.ENSRegistry       // eth_mainnet
	UniversalResolver = genesis.UniversalResolver // eth_mainnet
	PublicResolver    = genesis.PublicResolver    // eth_mainnet
	// eth_mainnet, as the two that follow: Chainlink's, answered within the last ten minutes
	FeedETH        = genesis.FeedETH
	FeedBTC        = genesis.FeedBTC
	FeedLINK       = genesis.FeedLINK
	FeedStale      = genesis.FeedStale      // eth_mainnet: answered two hours before the chain began
	FeedZero       = genesis.FeedZero       // eth_mainnet: its answer is 0
	GasPriceOracle = genesis.GasPriceOracle // base_mainnet and optimism_mainnet
	NodeInterface  = genesis.NodeInterface  // arbitrum_one
	Multicall3     = genesis.Multicall3     // every EVM chain
)

// Contracts to read and to decode, on every EVM chain.
var (
	Overloads    = genesis.Overloads    // functions of one name
	Arguments    = genesis.Arguments    // functions of every type
	Unverified   = genesis.Unverified   // Overloads again, whose source nobody published
	StorageProxy = genesis.StorageProxy // EIP-1967, before Overloads
	BeaconProxy  = genesis.BeaconProxy  // EIP-1967 by a beacon, before Overloads
	MinimalProxy = genesis.MinimalProxy // EIP-1167, before Overloads
	LoopingProxy = genesis.LoopA        // before a proxy that stands before this one
)

// USDC is where the token really stands on an EVM chain, behind its makers' proxy: FiatTokenV2_2, 6
// decimals, signatures for "USD Coin" version "2". Every funded account holds a million at the
// start.
func USDC(id chain.ID) common.Address { return genesis.USDC(id) }

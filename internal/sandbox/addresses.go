package sandbox

import (
	"github.com/ethereum/go-ethereum/common"

	"github.com/chainaccess/gateway/internal/sandbox/internal/ccip"
	"github.com/chainaccess/gateway/internal/sandbox/internal/genesis"
	"github.com/chainaccess/gateway/relay/chain"
)

// Names in the sandbox's ENS on Ethereum. Accounts are numbered as in Sandbox.Accounts.
const (
	ENSRoot      = genesis.Root       // account 0
	ENSAlice     = genesis.Alice      // account 1, whose primary name it is, here and on Base; text record "url"
	ENSBob       = genesis.Bob        // account 2, whose primary name it is
	ENSEmpty     = genesis.Empty      // has a resolver and no address
	ENSWildcard  = genesis.Wildcard   // every name below resolves to an address of its own: see ENSWildcardAddress
	ENSReverting = genesis.Reverting  // its resolver reverts with OutOfOffice(string)
	ENSSilent    = genesis.Silent     // its resolver returns no data
	ENSNoCode    = genesis.NoContract // its resolver is not a contract
	ENSNobody    = genesis.Nobody     // does not exist
	ENSOffchain  = genesis.Offchain   // names below it are served by an off-chain gateway, which clients ask in batches
	ENSDirect    = genesis.Direct     // like ENSOffchain, but its gateway is asked directly
	ENSCarol     = genesis.Carol      // account 3, by the gateway in batches, by GET
	ENSDave      = genesis.Dave       // account 4, by the gateway asked directly, by POST
	ENSErin      = genesis.Erin       // account 5, whose primary name it is, by the gateway in batches

	// Below ENSOffchain and ENSDirect the gateway misbehaves for these names; names that it does
	// not know have no address.
	ENSMissing = ccip.Missing + "." + ENSOffchain // 404
	ENSForged  = ccip.Forged + "." + ENSOffchain  // signed with another key
	ENSExpired = ccip.Expired + "." + ENSOffchain // signed for an hour ago
)

// ENSWildcardAddress returns the address to which label.wild.sandbox.eth resolves.
func ENSWildcardAddress(label string) common.Address { return genesis.WildcardAddress(label) }

// Addresses of contracts on the sandbox's chains, the same as on the real chains.
var (
	ENSRegistry       = genesis.ENSRegistry       // eth_mainnet
	UniversalResolver = genesis.UniversalResolver // eth_mainnet
	PublicResolver    = genesis.PublicResolver    // eth_mainnet
	// FeedETH, FeedBTC and FeedLINK are Chainlink feeds on eth_mainnet, updated within the last ten
	// minutes.
	FeedETH        = genesis.FeedETH
	FeedBTC        = genesis.FeedBTC
	FeedLINK       = genesis.FeedLINK
	FeedStale      = genesis.FeedStale      // eth_mainnet: updated two hours before the chain began
	FeedZero       = genesis.FeedZero       // eth_mainnet: its answer is 0
	GasPriceOracle = genesis.GasPriceOracle // base_mainnet and optimism_mainnet
	NodeInterface  = genesis.NodeInterface  // arbitrum_one
	Multicall3     = genesis.Multicall3     // every EVM chain
)

// Contracts for tests of reading and decoding, on every EVM chain.
var (
	Overloads    = genesis.Overloads    // overloaded functions
	Arguments    = genesis.Arguments    // functions with arguments of every type
	Unverified   = genesis.Unverified   // the code of Overloads, without a published source
	StorageProxy = genesis.StorageProxy // EIP-1967 proxy of Overloads
	BeaconProxy  = genesis.BeaconProxy  // EIP-1967 beacon proxy of Overloads
	MinimalProxy = genesis.MinimalProxy // EIP-1167 proxy of Overloads
	LoopingProxy = genesis.LoopA        // a proxy of a proxy of itself
)

// USDC returns the token's real address on an EVM chain: FiatTokenV2_2 behind Circle's proxy, with
// 6 decimals and signatures for "USD Coin" version "2". Every funded account holds a million USDC
// at the start.
func USDC(id chain.ID) common.Address { return genesis.USDC(id) }

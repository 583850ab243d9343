// Package chain describes the chains: their names and ids, and the catalog of methods with
// weight, parameter caps, cache rule, required capability, and whether a method reads or writes. It
// knows nothing of upstreams or keys.
package chain

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// ID names a chain in paths, records and configuration.
type ID string

// The six chains (docs/interface.md, 1.2).
const (
	EthMainnet      ID = "eth_mainnet"
	BaseMainnet     ID = "base_mainnet"
	ArbitrumOne     ID = "arbitrum_one"
	OptimismMainnet ID = "optimism_mainnet"
	PolygonPoS      ID = "polygon_pos"
	SolanaMainnet   ID = "solana_mainnet"
)

// Family is the JSON-RPC dialect of a chain.
type Family uint8

// The dialects.
const (
	EVM Family = iota
	Solana
)

// String returns "evm" or "solana".
func (f Family) String() string {
	if f == Solana {
		return "solana"
	}
	return "evm"
}

// Chain is a chain that the gateway knows. Chains are shared and never change; WithChainID returns
// a changed copy.
type Chain struct {
	ID     ID
	Title  string
	Family Family
	// ChainID is the EIP-155 chain id; 0 on Solana, which has none.
	ChainID uint64
	// BlockTime is the usual time between two blocks (slots on Solana). It bounds how far a head
	// can plausibly have moved.
	BlockTime time.Duration
	// L1Fee is how the chain charges for data that it writes to its parent chain.
	L1Fee L1Fee

	private    bool // WithChainID changed its id
	finalDepth uint64
	coin       string
	genesis    string // of a Solana cluster, in base58
	catalog    *catalog
	chainIDHex []byte // result of eth_chainId, a JSON string
	networkID  []byte // result of net_version, a JSON string
}

func newChain(id ID, title string, family Family, chainID uint64, blockTime time.Duration) *Chain {
	c := &Chain{ID: id, Title: title, Family: family, BlockTime: blockTime, catalog: newCatalog(id, methodsOf(family))}
	c.setChainID(chainID)
	switch id { //nolint:exhaustive // the others have nothing of their own
	case BaseMainnet, OptimismMainnet:
		c.L1Fee = OPStackL1Fee
	case ArbitrumOne:
		c.L1Fee = ArbitrumL1Fee
	case PolygonPoS:
		c.coin = "POL"
	case SolanaMainnet:
		c.genesis = solanaMainnetGenesis
	}
	return c
}

// solanaMainnetGenesis is the genesis hash of Solana's cluster mainnet-beta.
const solanaMainnetGenesis = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"

// GenesisHash returns the genesis hash of a Solana cluster, in base58; empty on EVM chains.
func (c *Chain) GenesisHash() string { return c.genesis }

// Coin returns the symbol and the decimals of the chain's native coin.
func (c *Chain) Coin() (symbol string, decimals int) {
	if c.Family == Solana {
		return cmp.Or(c.coin, "SOL"), 9
	}
	return cmp.Or(c.coin, "ETH"), 18
}

// Serves reports whether a method of the chain's catalog needs the capability.
func (c *Chain) Serves(needed Capability) bool {
	return slices.ContainsFunc(c.catalog.sorted, func(m *Method) bool { return m.Needs == needed })
}

func (c *Chain) setChainID(id uint64) {
	c.ChainID = id
	c.chainIDHex = strconv.AppendQuote(nil, "0x"+strconv.FormatUint(id, 16))
	c.networkID = strconv.AppendQuote(nil, strconv.FormatUint(id, 10))
}

// WithChainID returns a copy of an EVM chain with another EIP-155 id, for operators of private and
// test networks. Solana has none, so its copy keeps 0.
func (c *Chain) WithChainID(id uint64) *Chain {
	changed := *c
	if c.Family == EVM {
		changed.private = id != c.ChainID
		changed.setChainID(id)
	}
	return &changed
}

// Private reports whether WithChainID gave the chain another id. Facts about the public chain of
// this name, such as its block time, may then not hold.
func (c *Chain) Private() bool { return c.private }

// Method finds a served method by its exact, case-sensitive name, without allocating. The name is
// the decoded string, not its JSON form. For a method that is not found, Refuse returns the error.
func (c *Chain) Method(name []byte) (*Method, bool) {
	m, ok := c.catalog.byName[string(name)]
	return m, ok
}

// Methods returns the chain's served methods, sorted by name.
func (c *Chain) Methods() []*Method { return slices.Clone(c.catalog.sorted) }

// IsLocal reports whether the gateway itself answers a method, on any chain that has it. Only
// built-in methods are.
func IsLocal(method string) bool {
	for _, c := range builtIn.all {
		if m, ok := c.catalog.byName[method]; ok && m.Cache == Local {
			return true
		}
	}
	return false
}

// LocalResult returns the JSON result of a method with cache rule Local, nil for any other. The
// bytes are shared and must not be changed.
func (c *Chain) LocalResult(m *Method) []byte {
	switch {
	case m.Cache != Local:
		return nil
	case m.Name == "eth_chainId":
		return c.chainIDHex
	default:
		return c.networkID
	}
}

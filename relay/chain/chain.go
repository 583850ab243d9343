// Package chain describes the six chains: their names and ids, and the catalog of methods with
// weight, parameter caps, cache rule, required capability, and whether a method reads or writes. It
// knows nothing of upstreams or keys.
package chain

import (
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

// Chain is one of the six chains. Chains are shared and never change; WithChainID returns a changed
// copy.
type Chain struct {
	ID     ID
	Title  string
	Family Family
	// ChainID is the EIP-155 chain id; 0 on Solana, which has none.
	ChainID uint64
	// BlockTime is the usual time between two blocks (slots on Solana). It bounds how far a head
	// can plausibly have moved.
	BlockTime time.Duration

	catalog    *catalog
	chainIDHex []byte // result of eth_chainId, a JSON string
	networkID  []byte // result of net_version, a JSON string
}

// chains in the order of docs/interface.md, 1.2.1.
var chains = []*Chain{
	newChain(EthMainnet, "Ethereum", EVM, 1, 12*time.Second),
	newChain(BaseMainnet, "Base", EVM, 8453, 2*time.Second),
	newChain(ArbitrumOne, "Arbitrum One", EVM, 42161, 250*time.Millisecond),
	newChain(OptimismMainnet, "OP Mainnet", EVM, 10, 2*time.Second),
	newChain(PolygonPoS, "Polygon PoS", EVM, 137, 2*time.Second),
	newChain(SolanaMainnet, "Solana", Solana, 0, 400*time.Millisecond),
}

var chainByID = func() map[string]*Chain {
	m := make(map[string]*Chain, len(chains))
	for _, c := range chains {
		m[string(c.ID)] = c
	}
	return m
}()

func newChain(id ID, title string, family Family, chainID uint64, blockTime time.Duration) *Chain {
	table := evmMethods
	if family == Solana {
		table = solanaMethods
	}
	c := &Chain{ID: id, Title: title, Family: family, BlockTime: blockTime, catalog: newCatalog(id, table)}
	c.setChainID(chainID)
	return c
}

func (c *Chain) setChainID(id uint64) {
	c.ChainID = id
	c.chainIDHex = strconv.AppendQuote(nil, "0x"+strconv.FormatUint(id, 16))
	c.networkID = strconv.AppendQuote(nil, strconv.FormatUint(id, 10))
}

// All returns the six chains in the order of docs/interface.md, 1.2.1.
func All() []*Chain { return slices.Clone(chains) }

// Lookup finds a chain by its id as written in a path. The id is exact and case-sensitive.
func Lookup(id string) (*Chain, bool) {
	c, ok := chainByID[id]
	return c, ok
}

// WithChainID returns a copy of an EVM chain with another EIP-155 id, for operators of private and
// test networks. Solana has none, so its copy keeps 0.
func (c *Chain) WithChainID(id uint64) *Chain {
	changed := *c
	if c.Family == EVM {
		changed.setChainID(id)
	}
	return &changed
}

// Method finds a served method by its exact, case-sensitive name, without allocating. The name is
// the decoded string, not its JSON form. For a method that is not found, Refuse returns the error.
func (c *Chain) Method(name []byte) (*Method, bool) {
	m, ok := c.catalog.byName[string(name)]
	return m, ok
}

// Methods returns the chain's served methods, sorted by name.
func (c *Chain) Methods() []*Method { return slices.Clone(c.catalog.sorted) }

// IsLocal reports whether the gateway itself answers a method, on any chain that has it.
func IsLocal(method string) bool {
	for _, c := range chains {
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

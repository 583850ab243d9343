// Package chain owns what the gateway knows of the six chains: their names and ids, and the method catalog with weight,
// parameter caps, cache rule, availability, and whether a method reads or writes. It knows nothing of upstreams or keys.
package chain

// ID names a chain in paths, records and configuration.
type ID string

// The six chains (interface document 1, section 2).
const (
	EthMainnet      ID = "eth_mainnet"
	BaseMainnet     ID = "base_mainnet"
	ArbitrumOne     ID = "arbitrum_one"
	OptimismMainnet ID = "optimism_mainnet"
	PolygonPoS      ID = "polygon_pos"
	SolanaMainnet   ID = "solana_mainnet"
)

// Family says which JSON-RPC dialect a chain speaks.
type Family uint8

// The dialects.
const (
	EVM Family = iota
	Solana
)

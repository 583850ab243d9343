package chain

import (
	"slices"
	"time"
)

// Set is the chains that a gateway knows: the built-in ones, and those that its configuration adds.
// It never changes. A nil Set is the built-in chains.
type Set struct {
	all  []*Chain
	byID map[string]*Chain
	// added are the definitions of the chains that are not built in, in the order of their ids.
	added []Definition
}

var builtIn = newSet([]*Chain{
	newChain(EthMainnet, "Ethereum", EVM, 1, 12*time.Second),
	newChain(BaseMainnet, "Base", EVM, 8453, 2*time.Second),
	newChain(ArbitrumOne, "Arbitrum One", EVM, 42161, 250*time.Millisecond),
	newChain(OptimismMainnet, "OP Mainnet", EVM, 10, 2*time.Second),
	newChain(PolygonPoS, "Polygon PoS", EVM, 137, 2*time.Second),
	newChain(SolanaMainnet, "Solana", Solana, 0, 400*time.Millisecond),
})

func newSet(all []*Chain) *Set {
	s := &Set{all: all, byID: make(map[string]*Chain, len(all))}
	for _, c := range all {
		s.byID[string(c.ID)] = c
	}
	return s
}

// BuiltIn returns the six chains that every gateway knows (docs/interface.md, 1.2).
func BuiltIn() *Set { return builtIn }

func (s *Set) orBuiltIn() *Set {
	if s == nil {
		return builtIn
	}
	return s
}

// All returns the chains: the built-in ones in the order of docs/interface.md, 1.2.1, then those
// that were added, in the order of their ids.
func (s *Set) All() []*Chain { return slices.Clone(s.orBuiltIn().all) }

// IDs returns the ids of the chains, in the order of All.
func (s *Set) IDs() []string {
	var ids []string
	for _, c := range s.orBuiltIn().all {
		ids = append(ids, string(c.ID))
	}
	return ids
}

// Lookup finds a chain by its id as written in a path. The id is exact and case-sensitive.
func (s *Set) Lookup(id string) (*Chain, bool) {
	c, ok := s.orBuiltIn().byID[id]
	return c, ok
}

// Title returns the title of a chain, or its id when the set does not have it.
func (s *Set) Title(id string) string {
	if c, known := s.Lookup(id); known {
		return c.Title
	}
	return id
}

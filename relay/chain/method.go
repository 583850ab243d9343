package chain

import (
	"cmp"
	"slices"
	"time"
)

// Class groups methods by weight in usage records.
type Class string

// The classes of relay methods.
const (
	Standard Class = "standard"
	Heavy    Class = "heavy"
)

// CacheRule is how long an answer may be reused, if at all.
type CacheRule uint8

// The cache rules (docs/interface.md, 1.8.4).
const (
	// Never: the answer depends on the latest state, or is too large to be worth caching.
	Never CacheRule = iota
	// Local: the gateway answers by itself (LocalResult); the answer counts as a cache hit.
	Local
	// Short: any answer, for the method's TTL.
	Short
	// Final: a non-null answer whose block is FinalDepth below the corroborated head, for the
	// method's TTL. The depth is checked when the answer is cached, with the help of Method.Proof.
	Final
)

// String returns the rule's word for documents and the quote tool.
func (r CacheRule) String() string {
	switch r {
	case Local:
		return "local"
	case Short:
		return "short"
	case Final:
		return "final"
	default:
		return "never"
	}
}

// week is the TTL of answers that no longer change.
const week = 7 * 24 * time.Hour

// Capability is what an upstream must support beyond the plain methods. It is measured per
// upstream.
type Capability string

// The capabilities of upstreams. Every upstream has Plain.
const (
	Plain    Capability = ""
	Debug    Capability = "debug"
	Trace    Capability = "trace"
	ArbTrace Capability = "arbtrace"
	Bor      Capability = "bor"
	Simulate Capability = "simulate"
	TxPool   Capability = "txpool"
	Archive  Capability = "archive" // state of every block
	Data     Capability = "data"    // what the data service needs: transfers and token balances by owner
	History  Capability = "history" // Solana: every block since the first
	Bundler  Capability = "bundler" // ERC-4337; upstreams of the kind bundler have it
)

// Method is one row of the catalog. Methods are shared by the chains of a family and never change.
type Method struct {
	Name string
	// Class and Weight (whole units) are those of a call that no parameter makes heavier; Weigh
	// returns those of a given call.
	Class  Class
	Weight int
	Cache  CacheRule
	// TTL is how long an answer may be reused; 0 with rule Never.
	TTL time.Duration
	// Proof is how an answer under the Final rule shows which block it is about.
	Proof Proof
	// Write marks a submission: it is sent to exactly one upstream and never retried.
	Write bool
	// Waits marks a submission that is answered with its receipt (EIP-7966).
	Waits bool
	// BlockParam is the index of the parameter that names a block by its number or a tag; -1 for
	// methods without one.
	BlockParam int
	// Null is what a null result means.
	Null NullMeaning
	// Shows marks a method whose result is a block, with its number as the member "number".
	Shows bool
	// Near marks a method that depends on the head without naming it, for example a gas price.
	Near bool
	// Needs is what an upstream must support. On a chain where no upstream does, the method is
	// refused with -32601.
	Needs Capability
	// Only lists the chains that have the method; nil means the whole family.
	Only []ID

	rule         weighRule
	same         bool   // every node has the same answer, though the call names no block
	own          bool   // each client has an answer of its own, though the call names a block
	fills        bool   // an omitted block is the latest on every node, so it may be filled in
	ranged       bool   // the first parameter is a filter with fromBlock and toBlock
	contextParam int    // index of the options that take minContextSlot; -1 for none
	logBlocks    uint64 // replaces MaxLogBlocks; 0 keeps it
}

// NullMeaning is what a null result says.
type NullMeaning uint8

// The meanings. With NullUnknown, the node does not know the object, and one that is less behind
// may. With NullNoBlock, the node does not have the block.
const (
	NullAnswer NullMeaning = iota
	NullUnknown
	NullNoBlock
)

// StateRead reports whether the method reads the state of a block.
func (m *Method) StateRead() bool { return m.rule == weighStateDepth }

// Verifiable reports whether honest nodes give the same answer: the call names a block by number,
// tag or hash, or an object by its hash. Not those that only some clients have, as traces: each
// client has its own form of them.
func (m *Method) Verifiable() bool {
	if m.Write || m.own || m.Needs != Plain {
		return false
	}
	return m.same || m.BlockParam >= 0 || m.rule == weighLogRange || m.Cache == Final || m.Cache == Local
}

// Partial reports whether a node that does not have all blocks of a range yet answers with less,
// without saying so.
func (m *Method) Partial() bool { return m.rule == weighLogRange || m.ranged }

// NeedsFor returns what an upstream must support for a call of this class: a state read that is
// heavy because of its depth needs an archive.
func (m *Method) NeedsFor(class Class) Capability {
	if m.rule == weighStateDepth && class == Heavy {
		return Archive
	}
	return m.Needs
}

// maxLogBlocks returns the most blocks that one eth_getLogs of the chain may span.
func (m *Method) maxLogBlocks() uint64 { return cmp.Or(m.logBlocks, MaxLogBlocks) }

// weighRule is how the parameters of a call decide its weight and whether a cap refuses it.
type weighRule uint8

const (
	weighFixed weighRule = iota
	weighLogRange
	weighFeeWindow
	weighStateDepth
)

// On reports whether the chain has the method.
func (m *Method) On(id ID) bool { return m.Only == nil || slices.Contains(m.Only, id) }

// The rows of the catalog tables. Each constructor is one combination of weight, cache rule and
// parameters.

func plain(name string) Method {
	return Method{Name: name, Class: Standard, Weight: 1, BlockParam: -1, contextParam: -1}
}

func local(name string) Method { return cached(name, Local, week) }

func final(name string, p Proof) Method {
	m := cached(name, Final, week)
	m.Proof = p
	return m
}

func short(name string, ttl time.Duration) Method { return cached(name, Short, ttl) }

func cached(name string, rule CacheRule, ttl time.Duration) Method {
	m := plain(name)
	m.Cache, m.TTL = rule, ttl
	return m
}

func state(name string, blockParam int) Method {
	m := plain(name)
	m.BlockParam, m.rule = blockParam, weighStateDepth
	return m
}

// at marks a method's block parameter.
func at(blockParam int, m Method) Method {
	m.BlockParam = blockParam
	return m
}

// latest marks a state read whose omitted block is the latest on every node.
func latest(m Method) Method {
	m.fills = true
	return m
}

// null sets what a null result means.
func null(means NullMeaning, m Method) Method {
	m.Null = means
	return m
}

// shows marks a method whose result is the block.
func shows(m Method) Method {
	m.Shows = true
	return m
}

// near marks a method that depends on the head.
func near(m Method) Method {
	m.Near = true
	return m
}

// same marks a method whose answer is the same on every node.
func same(m Method) Method {
	m.same = true
	return m
}

// own marks a method that clients answer by estimates of their own.
func own(m Method) Method {
	m.own = true
	return m
}

// ranged marks a method with a filter of blocks.
func ranged(m Method) Method {
	m.ranged = true
	return m
}

// context marks the options of a method of Solana that take minContextSlot.
func context(param int, m Method) Method {
	m.contextParam = param
	return m
}

func capped(name string, rule weighRule) Method {
	m := plain(name)
	m.rule = rule
	return m
}

func heavy(name string, needs Capability) Method {
	m := needing(name, needs)
	m.Class, m.Weight = Heavy, 2
	return m
}

func needing(name string, needs Capability) Method {
	m := plain(name)
	m.Needs = needs
	return m
}

func write(name string) Method {
	m := plain(name)
	m.Write = true
	return m
}

func bundled(m Method) Method {
	m.Needs = Bundler
	return m
}

func waiting(m Method) Method {
	m.Waits = true
	return m
}

func on(id ID, m Method) Method {
	m.Only = []ID{id}
	return m
}

// catalog is the set of methods that one chain serves.
type catalog struct {
	byName     map[string]*Method
	bySqueezed map[string]string // name without case and separators to name
	sorted     []*Method
}

func newCatalog(id ID, table []Method) *catalog {
	c := &catalog{byName: make(map[string]*Method, len(table)), bySqueezed: make(map[string]string, len(table))}
	for i := range table {
		if m := &table[i]; m.On(id) {
			c.byName[m.Name] = m
			c.bySqueezed[squeeze(m.Name)] = m.Name
			c.sorted = append(c.sorted, m)
		}
	}
	slices.SortFunc(c.sorted, func(a, b *Method) int { return cmp.Compare(a.Name, b.Name) })
	return c
}

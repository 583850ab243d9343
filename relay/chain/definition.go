package chain

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Definition describes a chain that is not built in.
type Definition struct {
	ID     ID
	Title  string
	Family Family
	// ChainID is the EIP-155 chain id of an EVM chain.
	ChainID uint64
	// GenesisHash identifies a Solana cluster; in base58.
	GenesisHash string
	BlockTime   time.Duration
	// FinalDepth and MaxLogBlocks replace the constants of these names; 0 keeps them.
	FinalDepth, MaxLogBlocks uint64
	L1Fee                    L1Fee
	// Coin is the symbol of the native coin; empty for ETH or SOL.
	Coin    string
	Methods []Addition
}

// L1Fee is how a rollup charges for the data that it writes to its parent chain.
type L1Fee string

// The models of L1 fees.
const (
	NoL1Fee       L1Fee = ""
	OPStackL1Fee  L1Fee = "op_stack"
	ArbitrumL1Fee L1Fee = "arbitrum"
)

// Addition is a method that a chain serves in addition to those of its family. It reads: only
// built-in methods submit transactions.
type Addition struct {
	Name   string
	Weight int // 1, or 2 for one of the heavy class
	// TTL is how long an answer to a call without parameters may be reused; 0 for never.
	TTL time.Duration
	// Needs is what an upstream must support.
	Needs Capability
}

// Bounds of a definition.
const (
	maxAdded        = 50 // chains: ids are labels of metrics
	minBlockTime    = 10 * time.Millisecond
	maxBlockTime    = 10 * time.Minute
	maxFinalDepth   = 1_000_000
	maxLogBlocks    = 10_000
	maxTitle        = 40 // characters
	maxAdditions    = 100
	minTTL, maxTTL  = time.Second, time.Hour
	solanaSlotTime  = 400 * time.Millisecond
	notOnSolana     = "leave it out: it is for EVM chains"
	ruleOfChainName = "give 1 to 32 of a-z, 0-9 and _"
)

var (
	chainName   = regexp.MustCompile(`^[a-z0-9_]{1,32}$`)
	coinSymbol  = regexp.MustCompile(`^[A-Za-z0-9.]{1,12}$`)
	genesisHash = regexp.MustCompile(`^[1-9A-HJ-NP-Za-km-z]{32,44}$`)
	methodName  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{2,63}$`)
)

// reserved are ids with another meaning in paths, metrics or commands.
var reserved = []string{"none", "all"}

// additionNeeds are the capabilities that an addition may name.
var additionNeeds = []Capability{Debug, Trace, ArbTrace, Bor, Simulate, TxPool}

// With returns the set with one more chain, or what is wrong with its definition, by the name of
// the member in the upstreams file; "" is the chain's id.
func (s *Set) With(d Definition) (with *Set, wrong map[string]string) { //nolint:gocritic // read at the start
	s = s.orBuiltIn()
	d.BlockTime = cmp.Or(d.BlockTime, map[Family]time.Duration{Solana: solanaSlotTime}[d.Family])
	wrong = d.check()
	s.conflicts(&d, wrong)
	if len(wrong) > 0 {
		return nil, wrong
	}
	added := slices.Concat(s.added, []Definition{d})
	slices.SortFunc(added, func(a, b Definition) int { return strings.Compare(string(a.ID), string(b.ID)) })
	all := slices.Clone(builtIn.all)
	for i := range added {
		all = append(all, added[i].chain())
	}
	with = newSet(all)
	with.added = added
	return with, nil
}

// Equal reports whether both sets have the same chains with the same definitions.
func (s *Set) Equal(other *Set) bool {
	return reflect.DeepEqual(s.orBuiltIn().added, other.orBuiltIn().added)
}

// IsBuiltIn reports whether the chain is one of the built-in chains.
func (c *Chain) IsBuiltIn() bool {
	_, ok := builtIn.byID[string(c.ID)]
	return ok
}

// conflicts adds what d shares with another chain of the set.
func (s *Set) conflicts(d *Definition, wrong map[string]string) {
	if _, ok := builtIn.byID[string(d.ID)]; ok {
		wrong[""] = "this chain is built in: leave define out, or give yours another id"
		return
	}
	if len(s.added) >= maxAdded {
		wrong[""] = fmt.Sprintf("define at most %d chains", maxAdded)
	}
	for _, c := range s.all {
		switch {
		case c.ID == d.ID:
			wrong[""] = "it is defined already"
		case d.Family == EVM && d.ChainID != 0 && c.ChainID == d.ChainID:
			wrong["chain_id"] = fmt.Sprintf("%d is the id of %s: list its upstreams there, or correct it", d.ChainID,
				c.ID)
		case d.Family == Solana && c.genesis != "" && c.genesis == d.GenesisHash:
			wrong["genesis_hash"] = fmt.Sprintf("it is the hash of %s: list its upstreams there, or correct it", c.ID)
		}
		if strings.EqualFold(c.Title, d.Title) && c.ID != d.ID {
			wrong["title"] = fmt.Sprintf("%s has this title: give another", c.ID)
		}
	}
}

// check returns what is wrong with the definition by itself.
func (d *Definition) check() map[string]string {
	wrong := map[string]string{}
	if !chainName.MatchString(string(d.ID)) || slices.Contains(reserved, string(d.ID)) {
		wrong[""] = ruleOfChainName + "; none and all are taken"
	}
	if n := utf8.RuneCountInString(d.Title); n < 1 || n > maxTitle || !printable(d.Title) {
		wrong["title"] = fmt.Sprintf("give the name that people read, 1 to %d characters", maxTitle)
	}
	if d.BlockTime < minBlockTime || d.BlockTime > maxBlockTime {
		wrong["block_time"] = "give the usual time between two blocks, 10ms to 10m, as 12s"
	}
	if d.Coin != "" && !coinSymbol.MatchString(d.Coin) {
		wrong["coin"] = "give the symbol of the native coin, 1 to 12 letters and digits"
	}
	d.checkFamily(wrong)
	if len(d.Methods) > maxAdditions {
		wrong["methods"] = fmt.Sprintf("give at most %d", maxAdditions)
		return wrong
	}
	seen := map[string]bool{}
	for i := range d.Methods {
		maps.Copy(wrong, d.Methods[i].check(d.Family, seen))
	}
	return wrong
}

// checkFamily adds what is wrong with the members that one family has.
func (d *Definition) checkFamily(wrong map[string]string) {
	if d.Family == Solana {
		if !genesisHash.MatchString(d.GenesisHash) {
			wrong["genesis_hash"] = "give the cluster's genesis hash in base58, by which its upstreams are recognized"
		}
		for member, given := range map[string]bool{
			"chain_id": d.ChainID != 0, "finality_depth": d.FinalDepth != 0, "max_log_blocks": d.MaxLogBlocks != 0,
			"l1_fee": d.L1Fee != NoL1Fee,
		} {
			if given {
				wrong[member] = notOnSolana
			}
		}
		return
	}
	if d.ChainID == 0 || d.ChainID > 1<<53 {
		wrong["chain_id"] = "give the EIP-155 chain id, by which its upstreams are recognized"
	}
	if d.GenesisHash != "" {
		wrong["genesis_hash"] = "leave it out: it is for Solana clusters"
	}
	if d.FinalDepth > maxFinalDepth {
		wrong["finality_depth"] = fmt.Sprintf("give a number of blocks from 1 to %d", maxFinalDepth)
	}
	if d.MaxLogBlocks > maxLogBlocks {
		wrong["max_log_blocks"] = fmt.Sprintf("give a number of blocks from 1 to %d", maxLogBlocks)
	}
	if !slices.Contains([]L1Fee{NoL1Fee, OPStackL1Fee, ArbitrumL1Fee}, d.L1Fee) {
		wrong["l1_fee"] = "give op_stack or arbitrum, or leave it out where data costs nothing of its own"
	}
}

// check returns what is wrong with an addition. It adds its name to seen.
func (a *Addition) check(family Family, seen map[string]bool) map[string]string {
	place := "methods." + a.Name
	told := func(rule string) map[string]string { return map[string]string{place: rule} }
	if !methodName.MatchString(a.Name) {
		return map[string]string{"methods": "a name is 3 to 64 letters, digits and _"}
	}
	for _, m := range methodsOf(family) {
		if m.Name == a.Name && m.Only == nil {
			return told("every chain of the family has it: leave it out")
		}
	}
	if rule, refused := Refused(family, a.Name); refused {
		return told("it is never relayed (" + rule + "): leave it out")
	}
	if submits(a.Name) {
		return told("it submits, and only built-in methods do: leave it out")
	}
	squeezed := squeeze(a.Name)
	if seen[squeezed] {
		return told("it is given twice, perhaps in other letters")
	}
	seen[squeezed] = true
	switch {
	case a.Weight != 1 && a.Weight != 2:
		return told("weight is 1, or 2 for a heavy method")
	case a.TTL != 0 && (a.TTL < minTTL || a.TTL > maxTTL):
		return told("ttl is 1s to 1h; leave it out when answers must not be reused")
	case a.Needs != Plain && !slices.Contains(additionNeeds, a.Needs):
		return told(fmt.Sprintf("needs is one of %v, or left out", additionNeeds))
	}
	return nil
}

// submits reports whether a method's name says that it submits something to a chain, which must
// never be sent twice: one of its parts begins with such a verb.
func submits(name string) bool {
	parts := strings.Split(strings.ToLower(name), "_")
	if len(parts) > 1 {
		parts = parts[1:] // the first is the namespace
	}
	return slices.ContainsFunc(parts, func(part string) bool {
		return slices.ContainsFunc(submittingVerbs, func(verb string) bool { return strings.HasPrefix(part, verb) })
	})
}

var submittingVerbs = []string{
	"broadcast", "cancel", "publish", "relay", "replace", "request", "resend", "send", "submit",
}

func printable(s string) bool {
	return strings.TrimSpace(s) == s && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

func methodsOf(family Family) []Method {
	if family == Solana {
		return solanaMethods
	}
	return evmMethods
}

// chain returns the chain that a checked definition describes.
func (d *Definition) chain() *Chain {
	c := &Chain{
		ID: d.ID, Title: d.Title, Family: d.Family, BlockTime: d.BlockTime, L1Fee: d.L1Fee, coin: d.Coin,
		finalDepth: d.FinalDepth, genesis: d.GenesisHash,
	}
	table := slices.Clone(methodsOf(d.Family))
	table = slices.DeleteFunc(table, func(m Method) bool { return m.Only != nil })
	for i := range table {
		table[i].logBlocks = d.MaxLogBlocks
	}
	for _, a := range d.Methods {
		table = append(table, a.method())
	}
	c.catalog = newCatalog(d.ID, table)
	c.setChainID(d.ChainID)
	return c
}

func (a *Addition) method() Method {
	m := plain(a.Name)
	if a.TTL != 0 {
		m = short(a.Name, a.TTL)
	}
	if a.Weight == 2 {
		m.Class, m.Weight = Heavy, 2
	}
	m.Needs = a.Needs
	return m
}

package upstream

import (
	"time"

	"github.com/chainaccess/gateway/relay/chain"
)

// Snapshot is the result of one round of probes of one chain, and what the next round must
// remember. It is published on the board, kept in workflow histories and shown to operators, so it
// never contains a URL or a header.
type Snapshot struct {
	Chain chain.ID `json:"chain"`
	// ChainID is the configured EIP-155 id; a snapshot of another id is ignored. Zero on Solana,
	// and from a release without this field.
	ChainID    uint64    `json:"chain_id,omitempty"`
	MeasuredAt time.Time `json:"measured_at"`
	// Head is the corroborated head (block number, or slot on Solana). If HeadKnown is false, it is
	// the last one, and nobody vouched for one in this round. HeadAt is when it last moved, Slack
	// how many blocks it may still be ahead of the block time.
	Head      uint64    `json:"head"`
	HeadKnown bool      `json:"head_known"`
	HeadAt    time.Time `json:"head_at,omitzero"`
	Slack     uint64    `json:"slack,omitempty"`
	// Safe and Finalized are the heads of those names on EVM chains.
	Safe      DeepHead `json:"safe,omitzero"`
	Finalized DeepHead `json:"finalized,omitzero"`
	// BlockMicros is the time between two blocks in microseconds, if several upstreams or their
	// blocks show that it is shorter than the catalog's; zero otherwise.
	BlockMicros int64 `json:"block_micros,omitempty"`
	// Doubts is the number of consecutive rounds with a head that was not taken over at once,
	// because it is far below Head or because a single upstream reports it.
	Doubts int `json:"doubts,omitempty"`
	// Generation is raised after a reorg deeper than chain.FinalDepth. Answers cached under an
	// earlier generation must not be served. It never goes down.
	Generation uint64 `json:"generation"`
	// Checkpoints are hashes that reveal a reorg, the newest last; a few at most.
	Checkpoints []Checkpoint    `json:"checkpoints,omitempty"`
	Upstreams   []UpstreamState `json:"upstreams"`
	// Special are the verdicts on upstreams of the kinds private and bundler.
	Special []UpstreamState `json:"special,omitempty"`
}

// DeepHead is a consensus of upstreams about the block that a tag names; zero before the first. It
// goes back only when Head falls.
type DeepHead struct {
	Number uint64 `json:"number"`
	// VouchedAt is the last round in which upstreams vouched for it.
	VouchedAt time.Time `json:"vouched_at"`
}

// deepHeadLasts is how long the block of a tag is known after the last round that vouched for it.
// Without a limit, its depth would seem to grow when upstreams stop reporting it.
const deepHeadLasts = 10 * finalityEvery

// at returns the number, or zero if nobody vouches for it any more.
func (d *DeepHead) at(now time.Time) uint64 {
	if now.Sub(d.VouchedAt) >= deepHeadLasts {
		return 0
	}
	return d.Number
}

// Checkpoint is the hash of a block deeper than chain.FinalDepth below the head.
type Checkpoint struct {
	Height uint64 `json:"height"`
	Hash   string `json:"hash"`
	// By is the upstream that reported it. Confirmed is whether another reported the same hash, or
	// there was no other.
	By        string `json:"by"`
	Confirmed bool   `json:"confirmed"`
}

// UpstreamState is the verdict on one upstream.
type UpstreamState struct {
	Name string `json:"name"`
	// Fingerprint identifies the address and the chain id that were measured. A verdict belongs to
	// those, not to the name.
	Fingerprint string `json:"fingerprint"`
	// Usable reports whether calls may be routed here. An upstream of another chain never is
	// usable.
	Usable bool `json:"usable"`
	// Reason is why it is not usable: unreachable, wrong_chain, lagging, bad_answer,
	// implausibly_ahead; empty if it is usable.
	Reason string `json:"reason,omitempty"`
	// ChainIDOK reports whether the upstream proved to be of this chain, ChainIDAt when it last
	// did.
	ChainIDOK bool      `json:"chain_id_ok"`
	ChainIDAt time.Time `json:"chain_id_at,omitzero"`
	// Head is the upstream's own head, Lag how many blocks it is behind the corroborated one.
	Head          uint64 `json:"head"`
	Lag           uint64 `json:"lag"`
	LatencyMicros int64  `json:"latency_micros"`
	// Safe and Finalized are the blocks that the upstream names so, zero if it did not. FinalityAt
	// is when it was last asked.
	Safe       uint64    `json:"safe,omitempty"`
	Finalized  uint64    `json:"finalized,omitempty"`
	FinalityAt time.Time `json:"finality_at,omitzero"`
	// Capabilities are the probes' verdicts, by capability.
	Capabilities map[chain.Capability]Verdict `json:"verdicts,omitempty"`
}

// identifiedAt reports whether the state of a special upstream is of this round of probes, not one
// that was taken over from an earlier round.
func (s *UpstreamState) identifiedAt(round time.Time) bool {
	return s.ChainIDAt.IsZero() || !s.ChainIDAt.Before(round.Truncate(time.Second))
}

// Verdict reports whether an upstream has a capability.
type Verdict struct {
	Able bool `json:"able"`
	// MeasuredAt is the time of the last clear answer; zero for none. AskedAt is the time of the
	// last probe, Unclear the number of unclear answers since MeasuredAt.
	MeasuredAt time.Time `json:"measured_at,omitzero"`
	AskedAt    time.Time `json:"asked_at,omitzero"`
	Unclear    int       `json:"unclear,omitempty"`
}

// verdictLasts is how long a verdict is valid after its measurement: four measurements may fail.
const verdictLasts = 4 * capabilityEvery

// known reports whether the verdict is valid.
func (v Verdict) known(now time.Time) bool {
	return !v.MeasuredAt.IsZero() && now.Sub(v.MeasuredAt) < verdictLasts
}

// Capable reports whether the upstream has a capability. known is false if there is no verdict or
// it is too old.
func (s *UpstreamState) Capable(of chain.Capability, now time.Time) (able, known bool) {
	v, ok := s.Capabilities[of]
	if !ok || !v.known(now) {
		return false, false
	}
	return v.Able, true
}

// isOf reports whether the snapshot is of this chain, and not of one with the same name and another
// chain id.
func (s *Snapshot) isOf(c *chain.Chain) bool { return s.ChainID == 0 || s.ChainID == c.ChainID }

// of returns the state of an endpoint with the same name, address and chain id.
func (s *Snapshot) of(e *Endpoint) (UpstreamState, bool) {
	of := s.Upstreams
	if e.kind != node {
		of = s.Special
	}
	for i := range of {
		if of[i].Name == e.Name && of[i].Fingerprint == e.fingerprint {
			return of[i], true
		}
	}
	return UpstreamState{}, false
}

// Conditions for a degraded chain. Fewer than judgedCalls calls prove nothing.
const (
	judgedCalls  = 20
	lostOf       = 10              // degraded if more than one in lostOf calls got no answer
	headStandsAt = 3 * time.Minute // degraded if the head has not moved for this long, and for tenBlocks
	tenBlocks    = 10
)

// Why a chain is not up, as stable words for programs; empty if it is up.
const (
	WhyNoUpstream = "no_upstream" // none is usable
	WhyOneLeft    = "one_upstream_left"
	WhyHeadStands = "head_stands_still"
	WhyCallsLost  = "calls_lost"
)

// State returns the chain's state at the last round of probes. slots, the newest last, are what
// became of its calls in the meantime. known has its block time. State does not check the age of
// the measurement.
func (p *Posted) State(known *chain.Set, slots []Slot) (state chain.State, why string) {
	if !p.Known {
		return chain.Unknown, ""
	}
	s, usable := &p.Snapshot, 0
	for i := range s.Upstreams {
		if _, cordoned := p.Cordons[s.Upstreams[i].Name]; s.Upstreams[i].Usable && !cordoned {
			usable++
		}
	}
	state, why = stateBy(usable, len(s.Upstreams))
	switch {
	case state != chain.Up:
	case s.headStands(known):
		return chain.Degraded, WhyHeadStands
	case callsLost(slots):
		return chain.Degraded, WhyCallsLost
	}
	return state, why
}

// State returns the chain's state as this process sees it: from probes and its own exclusions.
func (c *Condition) State() (state chain.State, why string) { return stateBy(c.Usable, c.Upstreams) }

func stateBy(usable, of int) (state chain.State, why string) {
	switch {
	case usable == 0:
		return chain.Down, WhyNoUpstream
	case usable == 1 && of > 1:
		return chain.Degraded, WhyOneLeft
	}
	return chain.Up, ""
}

// headStands reports whether the head has stopped: the chain makes no blocks, or all upstreams
// stopped following it.
func (s *Snapshot) headStands(known *chain.Set) bool {
	c, ok := known.Lookup(string(s.Chain))
	return ok && !s.HeadAt.IsZero() && s.MeasuredAt.Sub(s.HeadAt) > max(headStandsAt, tenBlocks*c.BlockTime)
}

// callsLost reports whether too many calls got no answer, in the newest slot with at least
// judgedCalls calls.
func callsLost(slots []Slot) bool {
	for i := len(slots) - 1; i >= 0; i-- {
		if s := &slots[i]; s.Calls >= judgedCalls {
			return s.Lost*lostOf > s.Calls
		}
	}
	return false
}

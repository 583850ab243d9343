package upstream

import (
	"time"

	"github.com/chainaccess/gateway/relay/chain"
)

// Snapshot is what one round of probes found on one chain, and what the next round has to remember.
// It is published on the board, kept in workflow histories and shown to operators, so it never
// holds a URL or a header.
type Snapshot struct {
	Chain chain.ID `json:"chain"`
	// ChainID is the EIP-155 id that was configured; a snapshot of another one says nothing. Zero
	// on Solana, and from a release that did not tell.
	ChainID    uint64    `json:"chain_id,omitempty"`
	MeasuredAt time.Time `json:"measured_at"`
	// Head is the corroborated head (block number, or slot on Solana); when HeadKnown is false
	// nobody vouched for it in this round, and it is the last one. HeadAt is when it last moved,
	// Slack how many blocks it may still run ahead of the block time.
	Head      uint64    `json:"head"`
	HeadKnown bool      `json:"head_known"`
	HeadAt    time.Time `json:"head_at,omitzero"`
	Slack     uint64    `json:"slack,omitempty"`
	// BlockMicros is the time between two blocks, when more than one upstream's word or blocks that
	// were shown say that it is shorter than the catalog's; zero otherwise.
	BlockMicros int64 `json:"block_micros,omitempty"`
	// Doubts is for how many rounds in a row a head was found that was not taken over at once,
	// because it is far below Head or because one upstream alone gives it.
	Doubts int `json:"doubts,omitempty"`
	// Generation is raised when the chain was seen to reorganise deeper than what is taken for
	// final. What was stored under an earlier generation must not be served. It never goes down.
	Generation uint64 `json:"generation"`
	// Checkpoints are hashes by which a reorganisation is told, the newest last; a few at most.
	Checkpoints []Checkpoint    `json:"checkpoints,omitempty"`
	Upstreams   []UpstreamState `json:"upstreams"`
}

// Checkpoint is the hash of a block deeper than chain.FinalDepth below the head.
type Checkpoint struct {
	Height uint64 `json:"height"`
	Hash   string `json:"hash"`
	// By names the upstream that gave it. Confirmed is whether another one gave the same, or there
	// was no other.
	By        string `json:"by"`
	Confirmed bool   `json:"confirmed"`
}

// UpstreamState is the verdict on one upstream.
type UpstreamState struct {
	Name string `json:"name"`
	// Fingerprint is of the address and the chain id that were measured: a verdict holds for those,
	// not for the name.
	Fingerprint string `json:"fingerprint"`
	// Usable is whether calls may be routed here. An upstream of another chain never is.
	Usable bool `json:"usable"`
	// Reason says why it is not usable: unreachable, wrong_chain, lagging, bad_answer,
	// implausibly_ahead; empty when it is.
	Reason string `json:"reason,omitempty"`
	// ChainIDOK is whether the upstream proved to be of this chain, ChainIDAt when it last did.
	ChainIDOK bool      `json:"chain_id_ok"`
	ChainIDAt time.Time `json:"chain_id_at,omitzero"`
	// Head is the upstream's own head, Lag how many blocks it is behind the corroborated one.
	Head          uint64 `json:"head"`
	Lag           uint64 `json:"lag"`
	LatencyMicros int64  `json:"latency_micros"`
	// Capabilities is what probes found it to be able to, by capability.
	Capabilities map[chain.Capability]Verdict `json:"verdicts,omitempty"`
}

// Verdict is whether an upstream was found to be able to do something.
type Verdict struct {
	Able bool `json:"able"`
	// MeasuredAt is when the upstream last answered clearly; zero when it never did. AskedAt is
	// when it was last asked, Unclear how often since then it gave no clear answer.
	MeasuredAt time.Time `json:"measured_at,omitzero"`
	AskedAt    time.Time `json:"asked_at,omitzero"`
	Unclear    int       `json:"unclear,omitempty"`
}

// verdictLasts is how long a verdict counts after it was measured: four measurements may fail.
const verdictLasts = 4 * capabilityEvery

// known reports whether the verdict counts at all.
func (v Verdict) known(now time.Time) bool {
	return !v.MeasuredAt.IsZero() && now.Sub(v.MeasuredAt) < verdictLasts
}

// Capable reports whether the upstream was found to be able to do something, as far as that is
// known. A verdict that is too old is none.
func (s *UpstreamState) Capable(of chain.Capability, now time.Time) (able, known bool) {
	v, ok := s.Capabilities[of]
	if !ok || !v.known(now) {
		return false, false
	}
	return v.Able, true
}

// isOf reports whether the snapshot is of this chain, and not of one that bears its name with
// another chain id.
func (s *Snapshot) isOf(c *chain.Chain) bool { return s.ChainID == 0 || s.ChainID == c.ChainID }

// of finds the state of an endpoint: of that name, address and chain id.
func (s *Snapshot) of(e *Endpoint) (UpstreamState, bool) {
	for i := range s.Upstreams {
		if s.Upstreams[i].Name == e.Name && s.Upstreams[i].Fingerprint == e.fingerprint {
			return s.Upstreams[i], true
		}
	}
	return UpstreamState{}, false
}

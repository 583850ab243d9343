package upstream

import (
	"time"

	"github.com/chainaccess/gateway/chain"
)

// Snapshot is what one round of probes found on one chain. It is published on the board, kept in workflow histories and
// shown to operators, so it never holds a URL or a header.
type Snapshot struct {
	Chain      chain.ID  `json:"chain"`
	MeasuredAt time.Time `json:"measured_at"`
	// Head is the corroborated head (block number, or slot on Solana); valid when HeadKnown.
	Head      uint64 `json:"head"`
	HeadKnown bool   `json:"head_known"`
	// Generation is raised when the chain was seen to reorganise deeper than what is taken for final. What was stored under an
	// earlier generation must not be served. It never goes down.
	Generation uint64          `json:"generation"`
	Upstreams  []UpstreamState `json:"upstreams"`
}

// UpstreamState is the verdict on one upstream.
type UpstreamState struct {
	Name string `json:"name"`
	// Fingerprint is of the address and the chain id that were measured: a verdict holds for those, not for the name.
	Fingerprint string `json:"fingerprint"`
	// Usable is whether calls may be routed here. An upstream of another chain never is.
	Usable bool `json:"usable"`
	// Reason says why it is not usable: unreachable, wrong_chain, lagging, bad_answer; empty when it is.
	Reason string `json:"reason,omitempty"`
	// ChainIDOK is whether the upstream proved to be of this chain.
	ChainIDOK bool `json:"chain_id_ok"`
	// Head is the upstream's own head, Lag how many blocks it is behind the corroborated one.
	Head          uint64          `json:"head"`
	Lag           uint64          `json:"lag"`
	LatencyMicros int64           `json:"latency_micros"`
	Capabilities  map[string]bool `json:"capabilities,omitempty"`
}

package probing

import (
	"time"

	"github.com/chainaccess/gateway/relay/chain"
)

// Figures of probes, as operators know them.
const (
	identityPause   = time.Minute
	finalityPause   = 30 * time.Second
	capabilityPause = 30 * time.Minute
	unclearRetry    = time.Minute
	verdictExpiry   = 4 * capabilityPause
	deepHeadExpiry  = 10 * finalityPause
	tolerated       = 5  // blocks that an upstream may lag
	maxAhead        = 64 // blocks
	roundsOfDoubt   = 12
	roundsAlone     = 3
	solanaGenesis   = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"

	recentBlocks chain.Capability = "state128"
)

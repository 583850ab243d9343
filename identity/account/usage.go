package account

import (
	"time"

	"github.com/chainaccess/gateway/metering/plan"
)

// UsageLine counts the calls of one bucket that have all its words in common. Outcome is "ok",
// "hit", "refund" or the name of a fault reason; refunds have negative counts and units.
type UsageLine struct {
	Period  string // start date of the period, 2026-11-01
	Key     KeyID
	Agent   string
	Chain   string
	Service string
	Method  string
	Class   string
	Outcome string
	Source  string // plan, pack:<id>; empty for calls that cost nothing
	Tier    string

	Requests int64
	Units    plan.Units
}

// UsageBucket is all usage of one account in one ten-second slot and generation. It is sealed: its
// content no longer changes.
type UsageBucket struct {
	Shard      int
	Slot       time.Time
	Account    ID
	Generation string // random, set by the bucket's first writer; the same slot may occur again with another one
	Lines      []UsageLine
	Latencies  []LatencyLine // how long answered calls took; statistics, on which no charge depends
}

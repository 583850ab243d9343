package telemetry

import (
	"sync"
	"time"
)

// What the gateway lets into the log of failures of one kind. How many there are is told by the
// metrics.
const (
	LinesPerKind = 20
	LogInterval  = 10 * time.Second
)

// LogLimit keeps a log readable when the same thing happens a thousand times a second: of each kind
// a few are let through in an interval, and the others counted. Kinds must come from a bounded set.
type LogLimit[Kind comparable] struct {
	most  int
	every time.Duration
	now   func() time.Time

	mu    sync.Mutex // guards kinds
	kinds map[Kind]*limited
}

type limited struct {
	since     time.Time
	let, left int
}

// NewLogLimit lets most of a kind through in each interval.
func NewLogLimit[Kind comparable](limit int, every time.Duration, now func() time.Time) *LogLimit[Kind] {
	return &LogLimit[Kind]{most: limit, every: every, now: now, kinds: map[Kind]*limited{}}
}

// Let reports whether one more of a kind may be written; leftOut is how many were not since the
// last that was.
func (l *LogLimit[Kind]) Let(kind Kind) (leftOut int, ok bool) {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.kinds[kind]
	if k == nil {
		k = &limited{since: now}
		l.kinds[kind] = k
	}
	if now.Sub(k.since) >= l.every {
		k.since, k.let = now, 0
	}
	if k.let >= l.most {
		k.left++
		return 0, false
	}
	k.let++
	leftOut, k.left = k.left, 0
	return leftOut, true
}

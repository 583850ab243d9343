package telemetry

import (
	"sync"
	"time"
)

// Log lines per kind of failure. Metrics count all failures.
const (
	LinesPerKind = 20
	LogInterval  = 10 * time.Second
)

// LogLimit rate limits a log: it lets a few lines of each kind through per interval and counts the
// others. Kinds must come from a bounded set.
type LogLimit[Kind comparable] struct {
	max   int
	every time.Duration
	now   func() time.Time

	mu    sync.Mutex // guards kinds
	kinds map[Kind]*limited
}

type limited struct {
	since     time.Time
	let, left int
}

// NewLogLimit returns a LogLimit that lets limit lines of a kind through per interval.
func NewLogLimit[Kind comparable](limit int, every time.Duration, now func() time.Time) *LogLimit[Kind] {
	return &LogLimit[Kind]{max: limit, every: every, now: now, kinds: map[Kind]*limited{}}
}

// Let reports whether a line of this kind may be written. leftOut is the number of lines that were
// suppressed since the last one.
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
	if k.let >= l.max {
		k.left++
		return 0, false
	}
	k.let++
	leftOut, k.left = k.left, 0
	return leftOut, true
}

package upstream

import (
	"maps"
	"sync/atomic"
)

// lateIDs are the methods whose answers from an upstream exceed peekBytes before their id: nodes
// that write the id last do so with long results. Such an answer is sent on while its id is
// unknown, so its call uses a connection that has answered no other call and cannot deliver another
// customer's answer. The first such answer of a method costs its call a second request. Methods are
// those of the catalog. The zero value is ready to use.
type lateIDs struct {
	methods atomic.Pointer[map[string]struct{}]
}

func (l *lateIDs) has(method []byte) bool {
	known := l.methods.Load()
	if known == nil {
		return false
	}
	_, late := (*known)[string(method)]
	return late
}

func (l *lateIDs) note(method []byte) {
	for {
		known := l.methods.Load()
		more := map[string]struct{}{string(method): {}}
		if known != nil {
			maps.Copy(more, *known)
		}
		if l.methods.CompareAndSwap(known, &more) {
			return
		}
	}
}

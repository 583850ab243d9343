package upstream

import (
	"maps"
	"sync/atomic"
)

// lateIDs are the methods that an upstream answers with more than is judged whole before it says
// whose answer it is: nodes that write the id last do so with long results. Such an answer goes out
// while its id is not known, so its call has a connection on which no other was answered; one too
// many of another customer's call cannot come over it. An upstream shows it once for a method,
// which costs that call a second request. The methods are those of the catalog. The zero value is
// ready.
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

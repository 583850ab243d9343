package dashboard

import (
	"sync"
	"time"
)

// publicKept is how long public pages go by an answer that is the same for everybody, so that visitors who share a network do not use up its limit by
// looking at pages.
const publicKept = 10 * time.Second

// kept is the last answer of a capability that says the same to everybody.
type kept[T any] struct {
	mu     sync.Mutex // guards what follows
	answer T
	until  time.Time
}

// get gives the answer while it is fresh, and otherwise asks for another, once at a time. A refusal is not kept.
func (k *kept[T]) get(now time.Time, asked func() (T, error)) (T, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now.Before(k.until) {
		return k.answer, nil
	}
	answer, err := asked()
	if err == nil {
		k.answer, k.until = answer, now.Add(publicKept)
	}
	return answer, err
}

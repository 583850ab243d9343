package heads

import (
	"context"
	"sync"
	"time"
)

// followNewEvery is how soon the heads of a chain that a reload added are followed.
const followNewEvery = 500 * time.Millisecond

// FollowAll follows the heads of every chain in current until ctx ends, also of those that are
// added later. All of them are shared.
func FollowAll(ctx context.Context, current func() []*Told) {
	var following sync.WaitGroup
	defer following.Wait()
	followed := make(map[*Told]context.CancelFunc)
	defer func() {
		for _, cancel := range followed {
			cancel()
		}
	}()
	tick := time.NewTicker(followNewEvery)
	defer tick.Stop()
	for {
		present := make(map[*Told]bool)
		for _, t := range current() {
			if present[t] = true; followed[t] != nil {
				continue
			}
			chainCtx, cancel := context.WithCancel(ctx)
			followed[t] = cancel
			following.Go(func() { _ = t.Follow(chainCtx) }) // it is shared
		}
		for t, cancel := range followed {
			if !present[t] {
				cancel()
				delete(followed, t)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

package capability

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"
)

// mostAtOnce is how many reads one answer has under way, so that it leaves connections to others.
const mostAtOnce = 3

// atOnce runs reads that do not need each other side by side, and gives the error of the first that fails, upon which the others end. A panic of
// one is a panic of whoever waits for them, who knows what to do about it.
func atOnce(ctx context.Context, reads ...func(context.Context) error) error {
	group, reading := errgroup.WithContext(ctx)
	group.SetLimit(mostAtOnce)
	var mu sync.Mutex // guards panicked
	var panicked any
	for _, read := range reads {
		group.Go(func() error {
			defer func() {
				if cause := recover(); cause != nil {
					mu.Lock()
					defer mu.Unlock()
					panicked = cause
				}
			}()
			return read(reading)
		})
	}
	err := group.Wait()
	if panicked != nil {
		panic(panicked)
	}
	return err
}

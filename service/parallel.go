package service

import (
	"context"

	"github.com/chainaccess/gateway/internal/parallel"
)

// maxParallel is how many reads one answer has under way, so that it leaves connections to others.
const maxParallel = 3

// inParallel runs reads that do not need each other side by side, and gives the error of the first
// that fails, upon which the others end. A panic of one is a panic of whoever waits for them, who
// knows what to do about it.
func inParallel(ctx context.Context, reads ...func(context.Context) error) error {
	group, reading := parallel.WithContext(ctx)
	group.SetLimit(maxParallel)
	for _, read := range reads {
		group.Go(func() error { return read(reading) })
	}
	return group.Wait()
}

package service

import (
	"context"

	"github.com/chainaccess/gateway/internal/parallel"
)

// maxParallel is how many reads of one response run concurrently. It leaves connections to other
// requests.
const maxParallel = 3

// inParallel runs independent reads concurrently. It returns the first error and cancels the other
// reads. A panic of a read is raised again in the caller's goroutine, which handles it.
func inParallel(ctx context.Context, reads ...func(context.Context) error) error {
	group, reading := parallel.WithContext(ctx)
	group.SetLimit(maxParallel)
	for _, read := range reads {
		group.Go(func() error { return read(reading) })
	}
	return group.Wait()
}

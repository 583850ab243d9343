package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// followGoRun returns a context that ends when the program was started by "go run" and that process
// has ended: go run dies of a SIGTERM without passing it on. Under any other parent, for example a
// shell that exits, the program continues.
func followGoRun(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	parent := os.Getppid()
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", parent))
	if err != nil || strings.TrimSpace(string(name)) != "go" {
		return ctx, stop
	}
	go func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if os.Getppid() != parent {
					stop()
					return
				}
			}
		}
	}()
	return ctx, stop
}

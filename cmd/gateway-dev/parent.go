package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// followGoRun ends the context it gives when the program was started by "go run" and that has
// ended: go run dies of a SIGTERM without passing it on. Under any other parent, a shell that goes
// away for instance, the program lives on.
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

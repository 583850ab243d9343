//go:build faultpoints

package faultpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Variable holds where to die: a point, a colon, and at which of its hits, counted from 1. A
// further colon and a duration let that time pass first, while everything else goes on. For
// instance admit.sent:37:5ms.
const Variable = "GATEWAY_FAULTPOINT"

type plan struct {
	at    Point
	left  atomic.Int64
	pause time.Duration
}

var planned = func() *plan {
	text := os.Getenv(Variable)
	if text == "" {
		return nil
	}
	p, err := parse(text)
	if err != nil {
		panic(fmt.Sprintf("%s=%s: write POINT:HIT or POINT:HIT:PAUSE: %v", Variable, text, err))
	}
	return p
}()

func parse(text string) (*plan, error) {
	point, rest, _ := strings.Cut(text, ":")
	count, pause, paused := strings.Cut(rest, ":")
	hit, err := strconv.ParseInt(count, 10, 64)
	if err != nil {
		return nil, err
	}
	p := &plan{at: Point(point)}
	p.left.Store(hit)
	if paused {
		p.pause, err = time.ParseDuration(pause)
	}
	return p, err
}

// Hit kills the process with SIGKILL when the environment said so: nothing is flushed, closed or
// told.
func Hit(at Point) {
	if planned == nil || planned.at != at || planned.left.Add(-1) != 0 {
		return
	}
	time.Sleep(planned.pause)
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // the signal is on its way
}

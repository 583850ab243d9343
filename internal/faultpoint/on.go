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

// Variable selects when to die: a point, a colon, and the number of the hit, counted from 1. An
// optional colon and duration delay the kill while everything else continues. For example,
// admit.sent:37:5ms.
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

// Hit kills the process with SIGKILL at the selected hit: nothing is flushed, closed or reported.
func Hit(at Point) {
	if planned == nil || planned.at != at || planned.left.Add(-1) != 0 {
		return
	}
	time.Sleep(planned.pause)
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // the signal is on its way
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	killedName = "upstream_killed"

	killWarmup = time.Second // the load runs this long before it is measured
	killLead   = 3 * time.Second
	killFollow = 5 * time.Second
)

var (
	failedBar = bar{atMost, 0, 0}
	backBar   = bar{atMost, 2000, 0}
)

// measureKilled kills one of two nodes under load several times, each with a fresh gateway. It sums
// the failures and takes the slowest recovery.
func measureKilled(ctx context.Context, r *rig, o options, report *report) error {
	var failed, retried int
	slowest := time.Duration(0)
	for round := range o.rounds {
		report.sayf("%s: kill %d of %d", killedName, round+1, o.rounds)
		t, again, err := r.killOne(ctx, o, report)
		if err != nil {
			return err
		}
		failed += len(t.failed)
		retried += again
		if t.back < 0 {
			t.back = math.MaxInt64
		}
		if t.back >= slowest {
			slowest, report.kill = t.back, t
		}
	}
	back := float64(slowest.Milliseconds())
	if slowest == math.MaxInt64 {
		back = math.Inf(1)
	}
	report.add(result{killedName, "failed", float64(failed), 0, failedBar})
	report.add(result{killedName, "retried", float64(retried), 0, bar{}})
	report.add(result{killedName, "p99_back_ms", back, 0, backBar})
	return nil
}

// killOne returns the client's timeline and the number of reads that the gateway retried.
func (r *rig) killOne(ctx context.Context, o options, report *report) (*timeline, int, error) {
	s, err := r.inService(ctx, o, "first", "second")
	if err != nil {
		return nil, 0, err
	}
	defer s.end()
	started := time.Now()
	loading, stop := context.WithCancel(ctx)
	defer stop()
	load := make(chan []sample, 1)
	go func() { load <- s.client.generate(loading, o.connections, started) }()
	killed, killErr := killBusier(ctx, s.nodes, started)
	if killErr == nil {
		killErr = pause(ctx, killFollow)
	}
	stop()
	samples := <-load
	if killErr != nil {
		return nil, 0, killErr
	}
	t := newTimeline(samples, killed, killLead, killFollow)
	for _, sample := range samples {
		if sample.err != nil {
			report.sayf("failed %s after the kill: %v", (sample.ended - killed).Round(time.Millisecond), sample.err)
		}
	}
	if math.IsNaN(t.usual) {
		return nil, 0, errors.New("no read ended before the kill")
	}
	if err := r.stopGateway(ctx); err != nil { // stopping it writes its call records
		return nil, 0, err
	}
	again, err := r.sentAgain(ctx, started)
	back := "not back"
	if t.back >= 0 {
		back = "back after " + t.back.String()
	}
	report.sayf("%d reads, %d failed, %d sent again; p99 %.1f ms before, %s", t.reads, len(t.failed), again,
		t.usual, back)
	return t, again, err
}

// killBusier kills the node that answers more calls, once the load has run long enough. It returns
// when, since started.
func killBusier(ctx context.Context, nodes []*nodeProcess, started time.Time) (time.Duration, error) {
	if err := pause(ctx, killWarmup+killLead-window); err != nil {
		return 0, err
	}
	before, err := callsOf(ctx, nodes)
	if err != nil {
		return 0, err
	}
	if err := pause(ctx, window); err != nil {
		return 0, err
	}
	after, err := callsOf(ctx, nodes)
	if err != nil {
		return 0, err
	}
	busier := 0
	for i := range nodes {
		if after[i]-before[i] > after[busier]-before[busier] {
			busier = i
		}
	}
	at := time.Since(started)
	return at, nodes[busier].Kill()
}

func callsOf(ctx context.Context, nodes []*nodeProcess) ([]int, error) {
	counts := make([]int, len(nodes))
	for i, n := range nodes {
		var err error
		if counts[i], err = n.calls(ctx); err != nil {
			return nil, fmt.Errorf("count the calls of a node: %w", err)
		}
	}
	return counts, nil
}

// calls returns how many calls the node has answered.
func (n *nodeProcess) calls(ctx context.Context) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.address, http.NoBody)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// sentAgain counts the recorded calls since a time for which more than one node was asked.
func (r *rig) sentAgain(ctx context.Context, since time.Time) (n int, err error) {
	conn, err := pgx.Connect(ctx, r.stack.DatabaseURL)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	return n, conn.QueryRow(ctx, `SELECT count(*) FROM calls WHERE attempts > 1 AND started_at >= $1`, since).Scan(&n)
}

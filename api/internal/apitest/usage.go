package apitest

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/usagedb"
)

// FlushRecords writes what the recorder holds. Nothing can be recorded after it.
func (g *Gateway) FlushRecords() {
	g.closeRecorder.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), g.recordTime)
		defer cancel()
		_ = g.Recorder.Close(ctx) // PostgreSQL may be gone by then
	})
}

// Figures are the requests and units of usage lines.
type Figures struct {
	Requests int64
	Units    plan.Units
}

// Lines returns the usage lines of the key's account.
func (g *Gateway) Lines(key string) []account.UsageLine {
	g.T.Helper()
	return g.LinesOf(g.Identity(key).Account)
}

// LinesOf returns the usage lines of an account, each summed over its ten-second buckets.
func (g *Gateway) LinesOf(id account.ID) []account.UsageLine {
	g.T.Helper()
	buckets, _, err := g.Meter.SealedBuckets(g.T.Context(), account.Shard(id), true, 10_000)
	g.Must(err)
	var lines []account.UsageLine
	at := map[account.UsageLine]int{}
	for _, b := range buckets {
		if b.Account != id {
			continue
		}
		for _, line := range b.Lines {
			words := line
			words.Requests, words.Units = 0, 0
			i, known := at[words]
			if !known {
				i = len(lines)
				at[words], lines = i, append(lines, words)
			}
			lines[i].Requests += line.Requests
			lines[i].Units += line.Units
		}
	}
	return lines
}

// Usage sums the usage lines of the key's account by outcome.
func (g *Gateway) Usage(key string) map[string]Figures {
	g.T.Helper()
	sums := make(map[string]Figures)
	for _, line := range g.Lines(key) {
		f := sums[line.Outcome]
		sums[line.Outcome] = Figures{f.Requests + line.Requests, f.Units + line.Units}
	}
	return sums
}

// Counted returns the counter of the key's day and that of its account's period.
func (g *Gateway) Counted(key string) (day, period plan.Units) {
	g.T.Helper()
	id := g.Identity(key)
	read := func(pattern string) plan.Units {
		names, err := g.Meter.Client().Keys(g.T.Context(), pattern).Result()
		g.Must(err)
		var sum plan.Units
		for _, name := range names {
			n, err := g.Meter.Client().Get(g.T.Context(), name).Int64()
			if err != nil { // a hash
				n, err = g.Meter.Client().HGet(g.T.Context(), name, "u").Int64()
			}
			g.Must(err)
			sum += plan.Units(n)
		}
		return sum
	}
	return read("*day:" + id.Key.String() + ":*"), read("*ap:" + id.Account.String() + ":*")
}

// Calls returns the records of an answer's request. Nothing can be recorded after it.
func (g *Gateway) Calls(a Answer) []usagedb.Call {
	g.T.Helper()
	g.FlushRecords()
	calls, err := g.Store.FindCalls(g.T.Context(), a.RequestID())
	g.Must(err)
	return calls
}

// Record writes an account's usage from Redis to PostgreSQL, as a flush does.
func (g *Gateway) Record(id account.ID) {
	g.T.Helper()
	bucket := account.UsageBucket{
		Shard: account.Shard(id), Slot: time.Now().Truncate(10 * time.Second), Account: id,
		Generation: uuid.NewString(), Lines: g.LinesOf(id),
	}
	g.Must(g.Store.CommitUsage(g.T.Context(), []account.UsageBucket{bucket}))
}

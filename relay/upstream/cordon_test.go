package upstream

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
)

func newBoard(t *testing.T) *Board {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: testkit.Redis(t).Addr})
	t.Cleanup(func() { _ = rdb.Close() })
	return NewBoard(rdb)
}

// watch applies the board to the pool until the test ends.
func watch(t *testing.T, b *Board, p *Pool) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		b.Watch(ctx, p, 5*time.Millisecond, slog.New(slog.DiscardHandler))
	}()
	t.Cleanup(func() {
		cancel()
		<-watched
	})
}

func TestCordon_UpstreamIsNotUsedAtAll(t *testing.T) {
	t.Parallel()
	ctx, board := t.Context(), newBoard(t)
	first, second := testkit.Upstream(t), testkit.Upstream(t)
	p, c := poolOf(t, chain.EthMainnet, time.Now, providers(first, second))
	publish := func() {
		t.Helper()
		if err := board.Publish(ctx, healthy(c, time.Now())); err != nil {
			t.Fatal(err)
		}
	}
	publish()
	watch(t, board, p)
	testkit.Eventually(t, testTimeout, c.Measured, "the board is read")
	by := Cordon{By: "operator@host", At: noon, Reason: "it lies"}
	cordon := func(name string) {
		t.Helper()
		if err := board.Cordon(ctx, chain.EthMainnet, name, by); err != nil {
			t.Fatal(err)
		}
	}
	cordon("up-0")
	testkit.Eventually(t, testTimeout, func() bool { return c.choice(plan.Public, plan.Balanced, 0) == "up-1" },
		"the cordon is in force")
	// Not as the last one left, nor when all are unusable, nor for submissions, nor after another
	// round of probes.
	for range 20 {
		publish()
		for tried := range uint64(4) {
			if got := c.choice(plan.Public, plan.Balanced, tried); got == "up-0" {
				t.Fatalf("chose %s with %b tried", got, tried)
			}
		}
	}
	cordon("up-1")
	testkit.Eventually(t, testTimeout, func() bool { return c.choice(plan.Public, plan.Balanced, 0) == "none" },
		"both are out")
	if _, f := c.Read(deadline(t, testTimeout), request("eth_call")); f == nil || f.Reason != fault.NoUpstream {
		t.Errorf("a read with every upstream cordoned gives %v", f)
	}
	if _, f := c.Submit(deadline(t, testTimeout), request("eth_sendRawTransaction")); f == nil ||
		f.Reason != fault.NoUpstream {
		t.Errorf("a submission gives %v", f)
	}
	if first.Total()+second.Total() != 0 {
		t.Error("a cordoned upstream was asked")
	}
	// A process that starts reads the cordon at once.
	fresh, again := poolOf(t, chain.EthMainnet, time.Now, providers(first, second))
	watch(t, board, fresh)
	testkit.Eventually(t, testTimeout, again.Measured, "the other process reads the board")
	if got := again.choice(plan.Public, plan.Balanced, 0); got != "none" {
		t.Errorf("the other process chose %s", got)
	}
	posted, err := board.Read(ctx, chain.EthMainnet)
	if err != nil || posted.Cordons["up-0"] != by {
		t.Errorf("the board says %+v, %v", posted.Cordons, err)
	}
	if found, err := board.Uncordon(ctx, chain.EthMainnet, "up-0"); err != nil || !found {
		t.Errorf("taking it back: %v, %v", found, err)
	}
	if found, err := board.Uncordon(ctx, chain.EthMainnet, "nobody"); err != nil || found {
		t.Errorf("taking back what was not there: %v, %v", found, err)
	}
	testkit.Eventually(t, testTimeout, func() bool { return c.choice(plan.Public, plan.Balanced, 0) == "up-0" },
		"it is used again")
}

func TestCordon_UnreadableChainDoesNotHoldUpTheOthers(t *testing.T) {
	t.Parallel()
	ctx, board := t.Context(), newBoard(t)
	if err := board.rdb.Set(ctx, boardKey(chain.BaseMainnet), "{not json", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := board.Publish(ctx, Snapshot{Chain: chain.EthMainnet, Head: 7}); err != nil {
		t.Fatal(err)
	}
	all, err := board.ReadAll(ctx, chain.BaseMainnet, chain.EthMainnet)
	base := all[chain.BaseMainnet]
	expect.False(t, base.Known)
	expect.AtMost(t, len(base.Cordons), 0, base.Cordons)
	expect.Error(t, err)
	expect.Equal(t, all[chain.EthMainnet].Snapshot.Head, 7)
}

func TestCordon_HoldsWhenTheSnapshotCannotBeRead(t *testing.T) {
	t.Parallel()
	ctx, board := t.Context(), newBoard(t)
	p, c := poolOf(t, chain.EthMainnet, time.Now, providers(testkit.Upstream(t), testkit.Upstream(t)))
	c.Apply(healthy(c, time.Now()))
	for _, key := range []string{boardKey(chain.EthMainnet), generationKey(chain.EthMainnet)} {
		if err := board.rdb.Set(ctx, key, "{", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := board.Cordon(ctx, chain.EthMainnet, "up-0", Cordon{By: "operator@host", At: noon}); err != nil {
		t.Fatal(err)
	}
	posted, err := board.Read(ctx, chain.EthMainnet)
	expect.Error(t, err)
	expect.False(t, posted.Known)
	expect.Len(t, posted.Cordons, 1)
	watch(t, board, p)
	testkit.Eventually(t, testTimeout, func() bool { return c.choice(plan.Public, plan.Balanced, 0) == "up-1" },
		"the cordon is in force")
}

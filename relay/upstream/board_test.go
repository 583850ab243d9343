package upstream

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/redisconn"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
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
	p, c := poolOf(t, time.Now, providers(first, second))
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
	fresh, again := poolOf(t, time.Now, providers(first, second))
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
	p, c := poolOf(t, time.Now, providers(testkit.Upstream(t), testkit.Upstream(t)))
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

// The board has one hash tag, and its slot may move to another node between any two commands.
func TestBoard_StandsOnAClusterAndMovesWithItsSlot(t *testing.T) {
	t.Parallel()
	cluster := testkit.RedisCluster(t)
	address, err := redisconn.Parse(cluster.URL)
	if err != nil {
		t.Fatal(err)
	}
	rdb, err := redisconn.Open(address, redisconn.Certificates{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rdb.Close() })
	board, ctx := NewBoard(rdb), t.Context()
	p, c := poolOf(t, time.Now, providers(testkit.Upstream(t)))
	at := slices.Index(cluster.Nodes, cluster.NodeOf(t, boardKey(chain.EthMainnet)))
	do := func(what string, do func() error) {
		t.Helper()
		if err := do(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		next := (at + 1) % len(cluster.Nodes)
		cluster.MoveSlot(t, boardKey(chain.EthMainnet), cluster.Nodes[at], cluster.Nodes[next], nil, nil)
		at = next
		if err := do(); err != nil {
			t.Errorf("%s after the board moved: %v", what, err)
		}
	}
	do("publish", func() error { return board.Publish(ctx, healthy(c, time.Now())) })
	do("cordon", func() error {
		return board.Cordon(ctx, chain.EthMainnet, "up-0", Cordon{By: "operator@host", At: noon})
	})
	do("report figures", func() error { return board.putFigures(ctx, p, "process") })
	do("read figures", func() error {
		all, err := board.ReadFigures(ctx, chain.EthMainnet)
		if len(all[chain.EthMainnet]) != 1 {
			t.Errorf("the figures are %+v", all)
		}
		return err
	})
	do("read", func() error {
		posted, err := board.Read(ctx, chain.EthMainnet)
		if !posted.Known || !slices.Equal(slices.Collect(maps.Keys(posted.Cordons)), []string{"up-0"}) {
			t.Errorf("the board says %+v", posted)
		}
		return err
	})
	do("forget", func() error { return board.Forget(ctx, chain.BuiltIn().All()...) })
	posted, err := board.Read(ctx, chain.EthMainnet)
	require.NoError(t, err)
	expect.False(t, posted.Known)
	expect.NotEqual(t, posted.Snapshot.Generation, 0)
}

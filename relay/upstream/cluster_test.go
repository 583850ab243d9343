package upstream

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/redisconn"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
)

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
	p, c := poolOf(t, chain.EthMainnet, time.Now, providers(testkit.Upstream(t)))
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
	do("forget", func() error { return board.Forget(ctx, chain.EthMainnet, chain.SolanaMainnet) })
	posted, err := board.Read(ctx, chain.EthMainnet)
	require.NoError(t, err)
	expect.False(t, posted.Known)
	expect.NotEqual(t, posted.Snapshot.Generation, 0)
}

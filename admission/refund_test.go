package admission

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/account"
	"github.com/chainaccess/gateway/fault"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/meter"
	"github.com/chainaccess/gateway/plan"
)

// deaf is a connection that loses so many refunds and says nothing of it.
type deaf struct {
	net.Conn
	lost *atomic.Int64
}

func (d deaf) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(":rf:")) && d.lost.Add(-1) >= 0 {
		return len(b), nil
	}
	return d.Conn.Write(b)
}

func TestARefundWhoseFirstTryHangsIsMadeByTheSecond(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		hang  int64
		given bool
	}{"one hangs": {1, true}, "both hang": {2, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			server := testkit.Redis(t)
			var lost atomic.Int64
			client := redis.NewClient(&redis.Options{
				Addr: server.Addr, MaxRetries: -1, ReadTimeout: time.Minute, ContextTimeoutEnabled: true, Protocol: 2,
				Dialer: func(ctx context.Context, network, address string) (net.Conn, error) {
					conn, err := new(net.Dialer).DialContext(ctx, network, address)
					return deaf{conn, &lost}, err
				},
			})
			m, err := meter.New(ctx, client)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = m.Close() })
			d := Desk{Meter: m, Logger: slog.New(slog.DiscardHandler)}
			subject := meter.NewSubject(account.Identity{Account: account.NewID(), Key: account.NewKeyID()}, account.Digest{})
			c := &Call{
				RequestID: uuid.Must(uuid.NewV7()), Subject: subject, Charged: true,
				Metered: meter.Call{Units: plan.Unit, Chain: "eth_mainnet", Service: "rpc", Method: "eth_call", Class: "standard", Tier: "balanced"},
				Receipt: meter.Receipt{Period: "2026-11-01", Sources: account.SourcePlan, Slot: "1763600000"},
			}
			lost.Store(row.hang)
			begun := time.Now()
			told := d.Refund(ctx, c, fault.New(fault.UpstreamFailed, ""))
			if took := time.Since(begun); took > 4*refundAttempts*refundTimeout {
				t.Errorf("it took %s", took)
			}
			if given := told.Message == fault.UpstreamFailed.Entry().Meaning; given != row.given || c.Charged == row.given {
				t.Errorf("told %q, charged %t", told.Message, c.Charged)
			}
			buckets, _, err := m.SealedBuckets(ctx, account.Shard(subject.Account), true, 1)
			if err != nil || (len(buckets) == 1) != row.given {
				t.Errorf("the meter has refund lines in %d buckets, %v", len(buckets), err)
			}
		})
	}
}

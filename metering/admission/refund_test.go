package admission

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
)

// deaf is a connection that silently loses a number of refunds.
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

// list is a record with nothing but the list of lost calls.
type list struct {
	limits.Record

	calls []account.LostCall
	down  bool
}

func (l *list) AddLostCalls(_ context.Context, calls []account.LostCall) ([]account.LostCall, error) {
	if l.down {
		return nil, errors.New("down")
	}
	l.calls = append(l.calls, calls...)
	return nil, nil
}

func (l *list) ListLostCalls(context.Context, *account.LostCall, int) ([]account.LostCall, error) {
	return l.calls, nil
}

// DeleteLostCall leaves the call in the list, as when the answer was lost.
func (l *list) DeleteLostCall(context.Context, string) (bool, error) { return true, nil }

func TestRefund_PromisesNoMoreThanIsRecorded(t *testing.T) {
	t.Parallel()
	ctx, server := t.Context(), testkit.Redis(t)
	m, err := meter.Open(ctx, server.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	server.Kill(t)
	for name, down := range map[string]bool{"recorded": false, "in this process": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			quiet := slog.New(slog.DiscardHandler)
			g := Gate{Meter: m, Limits: limits.New(&list{down: down}, m, nil, time.Now), Logger: quiet}
			c := &Call{
				RequestID: uuid.Must(uuid.NewV7()), Charged: true, Metered: meter.Call{Units: plan.Unit},
				Subject: meter.NewSubject(account.Identity{Account: account.NewID(), Key: account.NewKeyID()},
					account.Digest{}),
			}
			told := g.Refund(ctx, c, fault.New(fault.UpstreamFailed, ""))
			if !strings.Contains(told.Message, "is given back as soon as") {
				t.Errorf("%q promises nothing", told.Message)
			}
			if asks := strings.Contains(told.Message, "file a ticket"); asks != down {
				t.Errorf("%q names a ticket: %t, want %t", told.Message, asks, down)
			}
		})
	}
}

func TestRefund_HangingFirstAttemptIsRepeated(t *testing.T) {
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
			var lostCalls list
			quiet := slog.New(slog.DiscardHandler)
			g := Gate{Meter: m, Limits: limits.New(&lostCalls, m, nil, time.Now), Logger: quiet}
			subject := meter.NewSubject(account.Identity{Account: account.NewID(), Key: account.NewKeyID()},
				account.Digest{})
			c := &Call{
				RequestID: uuid.Must(uuid.NewV7()), Subject: subject, Charged: true,
				Metered: meter.Call{
					Units: plan.Unit, Chain: "eth_mainnet", Service: "rpc", Method: "eth_call",
					Class: "standard", Tier: "balanced",
				},
				Receipt: meter.Receipt{
					Period: "2026-11-01", Sources: account.SourcePlan,
					Slot: strconv.FormatInt(time.Now().Unix()/10*10, 10),
				},
			}
			lost.Store(row.hang)
			begun := time.Now()
			told := g.Refund(ctx, c, fault.New(fault.UpstreamFailed, ""))
			if took := time.Since(begun); took > 4*refundAttempts*refundTimeout {
				t.Errorf("it took %s", took)
			}
			given := told.Message == fault.UpstreamFailed.Entry().Meaning
			expect.Equal(t, given, row.given)
			expect.False(t, c.Charged)
			if !row.given {
				expect.Contains(t, told.Message, "is given back as soon as")
			}
			if len(lostCalls.calls) == 1 == row.given {
				t.Errorf("%d refunds wait", len(lostCalls.calls))
			}
			for want := 1; !row.given && want >= 0; want-- { // refunded once, even when repeated
				if n, err := g.Limits.Reclaim(ctx, quiet, func(string, int) {}); err != nil || n != want {
					t.Errorf("%d charges were given back, %v, want %d", n, err, want)
				}
			}
			buckets, _, err := m.SealedBuckets(ctx, account.Shard(subject.Account), true, 10)
			if err != nil {
				t.Fatal(err)
			}
			refunded := plan.Units(0)
			for _, b := range buckets {
				for i := range b.Lines {
					refunded += b.Lines[i].Units
				}
			}
			if refunded != -plan.Unit {
				t.Errorf("the meter has refunds of %s units, want -1: %+v", refunded, buckets)
			}
		})
	}
}

package limits_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/usagedb"
)

// mute is a connection that, while switched on, swallows a reply and closes.
type mute struct {
	net.Conn
	on *atomic.Bool
}

func (c mute) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.on.Load() {
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

// behindMute returns the Limits of a process that loses Redis' replies while the switch is on.
func (b *bundle) behindMute(t *testing.T) (*limits.Limits, *atomic.Bool) {
	t.Helper()
	var on atomic.Bool
	m, err := meter.New(b.ctx, redis.NewClient(&redis.Options{
		Addr: b.redis.Addr, MaxRetries: -1, Protocol: 2, ContextTimeoutEnabled: true,
		Dialer: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			return mute{conn, &on}, err
		},
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return limits.New(b.store, m, b.hasher, b.clock.Now), &on
}

func (b *bundle) lostCalls(t *testing.T) (n int) {
	t.Helper()
	if err := b.db.QueryRow(b.ctx, `SELECT count(*) FROM lost_calls`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// chargedToday returns the day's counter of a holder's key.
func (b *bundle) chargedToday(t *testing.T, h *holder) plan.Units {
	t.Helper()
	names := b.rdb.Keys(b.ctx, fmt.Sprintf("{u%04d}:day:%s:*", account.Shard(h.account.ID), h.key.ID)).Val()
	if len(names) != 1 {
		t.Fatalf("counters of %v, want one day's", names)
	}
	units, err := b.rdb.Get(b.ctx, names[0]).Int64()
	if err != nil {
		t.Fatal(err)
	}
	return plan.Units(units)
}

func TestReclaim_GivesBackWhatADeadProcessLostTheReplyOf(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.holder(t, plan.Enterprise, 100*plan.Unit)
	s := b.identify(t, h)
	b.admit(t, s, charge(plan.Unit))
	dying, lose := b.behindMute(t)
	if _, a, err := dying.AdmitOrLoad(b.ctx, s, charge(plan.Unit)); err != nil || !a.Admitted {
		t.Fatalf("%+v, %v", a, err)
	}
	lose.Store(true)
	_, _, err := dying.AdmitOrLoad(b.ctx, s, charge(plan.Unit))
	if _, ok := errors.AsType[*meter.LostError](err); !ok {
		t.Fatalf("%v, want a lost reply", err)
	}
	if n := b.lostCalls(t); n != 1 {
		t.Fatalf("%d lost calls are recorded when the call is answered, want 1", n)
	}
	if got := b.chargedToday(t, h); got != 3*plan.Unit {
		t.Fatalf("%s units are charged, want 3 with the lost call", got)
	}
	results := map[string]int{}
	testkit.Eventually(t, testTimeout, func() bool {
		if _, err := b.limits.Reclaim(b.ctx, slog.New(slog.DiscardHandler), func(result string, n int) {
			results[result] += n
		}); err != nil {
			t.Fatal(err)
		}
		return b.lostCalls(t) == 0
	}, "the lost call is decided")
	if results["given_back"] != 1 || results["not_charged"]+results["forgotten"]+results["dropped"] != 0 {
		t.Errorf("became %v, want one given back", results)
	}
	if got := b.chargedToday(t, h); got != 2*plan.Unit {
		t.Errorf("%s units are charged, want 2", got)
	}
}

func TestReclaim_WritesDownWhatTheRecordDidNotTake(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.holder(t, plan.Enterprise, 100*plan.Unit)
	s := b.identify(t, h)
	b.admit(t, s, charge(plan.Unit))
	f, lose := b.behindMute(t)
	if _, a, err := f.AdmitOrLoad(b.ctx, s, charge(plan.Unit)); err != nil || !a.Admitted {
		t.Fatalf("%+v, %v", a, err)
	}
	if _, err := b.db.Exec(b.ctx, `ALTER TABLE lost_calls RENAME TO away`); err != nil {
		t.Fatal(err)
	}
	lose.Store(true)
	if _, _, err := f.AdmitOrLoad(b.ctx, s, charge(plan.Unit)); err == nil {
		t.Fatal("a lost reply was no error")
	}
	lose.Store(false)
	if _, err := b.db.Exec(b.ctx, `ALTER TABLE away RENAME TO lost_calls`); err != nil {
		t.Fatal(err)
	}
	results := map[string]int{}
	testkit.Eventually(t, testTimeout, func() bool {
		if _, err := f.Reclaim(b.ctx, slog.New(slog.DiscardHandler), func(result string, n int) {
			results[result] += n
		}); err != nil {
			t.Fatal(err)
		}
		return results["given_back"] > 0
	}, "the lost call is written down and given back: %v", results)
}

// stuck writes n lost calls that are older than all others and that Redis answers with an error.
func (b *bundle) stuck(t *testing.T, n int, notShard int) {
	t.Helper()
	id := account.NewID()
	for account.Shard(id) == notShard {
		id = account.NewID()
	}
	now, err := b.rdb.Time(b.ctx).Result()
	if err != nil {
		t.Fatal(err)
	}
	for step := now.Unix()/10_000 - 3; step <= now.Unix()/10_000+1; step++ {
		if err := b.rdb.Set(b.ctx, fmt.Sprintf("{u%04d}:ran:%d", account.Shard(id), step), "no hash",
			0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.db.Exec(b.ctx,
		`INSERT INTO lost_calls (nonce, account_id, key_id, units, service, line, mark, not_after, lost_at)
SELECT 'stuck' || n, $1, gen_random_uuid(), 1000, 'rpc', '', 'mark', now() - interval '1 hour', now() - interval '1 hour' FROM generate_series(1, $2::int) AS n`,
		id.UUID, n); err != nil {
		t.Fatal(err)
	}
}

func TestReclaim_GoesPastCallsThatCannotBeDecided(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.holder(t, plan.Enterprise, 100*plan.Unit)
	s := b.identify(t, h)
	b.admit(t, s, charge(plan.Unit))
	const stuck = 600 // more than two pages
	b.stuck(t, stuck, account.Shard(h.account.ID))
	f, lose := b.behindMute(t)
	if _, a, err := f.AdmitOrLoad(b.ctx, s, charge(plan.Unit)); err != nil || !a.Admitted {
		t.Fatalf("%+v, %v", a, err)
	}
	lose.Store(true)
	if _, _, err := f.AdmitOrLoad(b.ctx, s, charge(plan.Unit)); err == nil {
		t.Fatal("a lost reply was no error")
	}
	var failed error
	testkit.Eventually(t, testTimeout, func() bool {
		_, failed = b.limits.Reclaim(b.ctx, slog.New(slog.DiscardHandler), func(string, int) {})
		return b.lostCalls(t) == stuck
	}, "the call behind those that are stuck is given back")
	if failed == nil {
		t.Error("nothing is said of those that are stuck")
	}
	if got := b.chargedToday(t, h); got != 2*plan.Unit {
		t.Errorf("%s units are charged, want 2", got)
	}
}

func TestReclaim_NamesWhoseCallsFoundNoRoom(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.holder(t, plan.Enterprise, 100*plan.Unit)
	s := b.identify(t, h)
	b.admit(t, s, charge(plan.Unit))
	if _, err := b.db.Exec(b.ctx,
		`INSERT INTO lost_calls (nonce, account_id, units, key_id, service, line, mark, not_after)
SELECT 'other' || n, gen_random_uuid(), 0, gen_random_uuid(), 'rpc', '', 'mark', now() FROM generate_series(1, $1::int) AS n`, usagedb.MaxLostCalls); err != nil {
		t.Fatal(err)
	}
	f, lose := b.behindMute(t)
	if _, a, err := f.AdmitOrLoad(b.ctx, s, charge(plan.Unit)); err != nil || !a.Admitted {
		t.Fatalf("%+v, %v", a, err)
	}
	lose.Store(true)
	if _, _, err := f.AdmitOrLoad(b.ctx, s, charge(plan.Unit)); err == nil {
		t.Fatal("a lost reply was no error")
	}
	if _, err := b.db.Exec(b.ctx, `DELETE FROM lost_calls`); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	results := map[string]int{}
	if _, err := f.Reclaim(b.ctx, slog.New(slog.NewJSONHandler(&log, nil)), func(result string, n int) {
		results[result] += n
	}); err != nil {
		t.Fatal(err)
	}
	if results["dropped"] != 1 {
		t.Errorf("became %v, want one dropped", results)
	}
	for _, want := range []string{h.account.ID.String(), h.key.ID.String(), `"calls":1`, `"units":`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %s: %s", want, log.String())
		}
	}
	if strings.Contains(log.String(), h.text) {
		t.Error("the log has a key's text")
	}
}

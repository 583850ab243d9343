package meter_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

func TestPush_ALaterEpochWinsWhateverTheVersion(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c := b.client(t, nil)
		b.change(t, c, func(a *account.AccountLimits, k *account.KeyLimits) { a.Version, k.Version = 40, 40 })
		b.mustAdmit(t, c, charge(1))
		restored := *c
		restored.account.Epoch, restored.account.Version, restored.account.Status = 7, 2, account.Suspended
		if err := b.meter.PushAccount(b.ctx, restored.account); err != nil {
			t.Fatal(err)
		}
		b.mustRefuse(t, c, charge(1), "account_suspended")
		lost := *c
		lost.account.Version = 41 // by a process that still uses the lost record
		if err := b.meter.PushAccount(b.ctx, lost.account); err != nil {
			t.Fatal(err)
		}
		b.mustRefuse(t, c, charge(1), "account_suspended")
		held, err := b.meter.AccountInForce(b.ctx, restored.account)
		in := expect.In(t, "in force")
		require.NoError(in, err)
		expect.True(in, held.There)
		expect.Equal(in, held.Epoch, 7)
		expect.Equal(in, held.Version, 2)
		expect.True(in, held.Same)
		if held, err = b.meter.AccountInForce(b.ctx, lost.account); err != nil || held.Same {
			t.Errorf("what is in force is taken for something else: %+v (%v)", held, err)
		}
		restored.key.Epoch, restored.key.Version, restored.key.Status = 7, 1, account.Revoked
		if err := b.meter.PushKey(b.ctx, restored.key); err != nil {
			t.Fatal(err)
		}
		b.mustRefuse(t, c, charge(1), "key_invalid")
	})
}

func TestForgetBefore_LeavesWhatIsOfTheEpochAndUsage(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		old, present := b.client(t, limits(noWindow, 10, 1000)), b.client(t, limits(noWindow, 10, 1000))
		b.mustAdmit(t, old, charge(1))
		b.mustAdmit(t, present, charge(1))
		at := present.account
		at.Epoch = 5
		if err := b.meter.PushAccount(b.ctx, at); err != nil {
			t.Fatal(err)
		}
		gone, err := b.meter.ForgetBefore(b.ctx, 5)
		if err != nil || gone == 0 {
			t.Fatalf("%d went (%v)", gone, err)
		}
		for _, c := range []*client{old, present} {
			held, err := b.meter.AccountInForce(b.ctx, c.account)
			if err != nil || held.There != (c == present) {
				t.Errorf("in force is %+v (%v)", held, err)
			}
		}
		if n, err := b.rdb.Exists(b.ctx, tagOf(old)+"dirty").Result(); err != nil || n != 1 {
			t.Errorf("usage that is not flushed went (%v)", err)
		}
		if gone, err = b.meter.ForgetBefore(b.ctx, 5); err != nil || gone != 0 {
			t.Errorf("%d went the second time (%v)", gone, err)
		}
	})
}

func TestClaim_IsTheFirstDeploymentsAndItsEpochNeverFalls(t *testing.T) {
	t.Parallel()
	onBothAlone(t, func(t *testing.T, b *bundle) {
		for i, tc := range []struct {
			by    string
			epoch int64
			want  int64
		}{{"one", 0, 0}, {"one", 9, 9}, {"one", 4, 9}, {"other", 12, 9}, {"one", 0, 9}} {
			owner, held, err := b.meter.Claim(b.ctx, tc.by, tc.epoch)
			in := expect.In(t, "claim %d", i)
			require.NoError(in, err)
			expect.Equal(in, owner, "one")
			expect.Equal(in, held, tc.want)
		}
	})
}

// dropping ends a shard's flush token as soon as it begins, as another process's DropBuckets may.
type dropping struct {
	redis.Hook

	rdb   redis.UniversalClient
	token string
	drops int // still to come
}

func (d *dropping) DialHook(next redis.DialHook) redis.DialHook { return next }

func (d *dropping) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (d *dropping) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if name := cmd.Name(); (name == "setnx" || name == "set") && d.drops > 0 {
			d.drops--
			d.rdb.Del(ctx, d.token)
		}
		return err
	}
}

func TestFlushToken_IsReadAlsoWhenADropEndsItAtOnce(t *testing.T) {
	t.Parallel()
	b := connect(t, testkit.Redis(t).URL)
	id := account.NewID()
	token := fmt.Sprintf("{u%04d}:epoch", account.Shard(id))
	b.meter.Client().AddHook(&dropping{rdb: b.rdb, token: token, drops: 1})
	first, err := b.meter.FlushToken(b.ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	second, err := b.meter.FlushToken(b.ctx, id)
	if err != nil || second == first {
		t.Errorf("after a drop the token is %d (%v), as it was before", second, err)
	}
	if third, err := b.meter.FlushToken(b.ctx, id); err != nil || third != second {
		t.Errorf("without a drop the token went from %d to %d (%v)", second, third, err)
	}
}

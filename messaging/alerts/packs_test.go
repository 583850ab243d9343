package alerts_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/billingdb"
)

// pack grants a pack that expires at the given time.
func (b *bundle) pack(t *testing.T, id account.ID, origin string, expires time.Time) accountdb.Pack {
	t.Helper()
	p := accountdb.Pack{
		Pack:    account.Pack{ID: account.NewPackID(), Units: 7_000_000 * plan.Unit, Expires: expires},
		Account: id, Kind: "pack_m", Origin: origin, GrantedAt: expires.AddDate(-1, 0, 0),
	}
	granted, _, _, err := b.store.GrantPack(b.ctx, p, accountdb.Author{Actor: "test", Origin: "ops", Reason: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	return granted
}

// drawn records units drawn from a pack.
func (b *bundle) drawn(t *testing.T, p accountdb.Pack, units plan.Units) { //nolint:gocritic // a copy does no harm
	t.Helper()
	start, _ := plan.CalendarMonth(b.clock.Now())
	b.exec(t, `INSERT INTO account_days (account_id, period, day, chain, service, method, class, outcome, source, tier, requests, units)
		VALUES ($1, $2, date_trunc('day', $3::timestamptz, 'UTC'), 'eth_mainnet', 'rpc', 'eth_call', 'standard', 'ok', $4, 'balanced', 1, $5)`,
		p.Account.UUID, start, b.clock.Now(), p.ID.Source(), int64(units))
}

func (b *bundle) packResult(t *testing.T, p accountdb.Pack, days int) string { //nolint:gocritic // a copy does no harm
	t.Helper()
	var result string
	if err := b.db.QueryRow(b.ctx,
		"SELECT coalesce((SELECT result FROM pack_notices WHERE pack_id = $1 AND days = $2), '')", p.ID.UUID,
		days).Scan(&result); err != nil {
		t.Fatal(err)
	}
	return result
}

func TestPackExpiry_HoldersAreToldThirtyAndSevenDaysBefore(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, users := b.buyer(t, "Europe/Berlin", false, "ann@buyer.example", "bob@buyer.example")
	expires := b.clock.Now().AddDate(0, 0, 31)
	p := b.pack(t, id, "payment/1", expires)
	b.drawn(t, p, 5_000_000*plan.Unit+1)
	b.sweepPacks(t)
	b.wantMails(t, "31 days before")

	reason := func(days, user int) string { return fmt.Sprintf("pack/%s/%d/%s", p.ID, days, users[user]) }
	b.clock.Advance(24 * time.Hour)
	for range 3 {
		b.sweepPacks(t)
	}
	b.wantMails(t, "30 days before", reason(30, 0), reason(30, 1))
	l := b.letter(t, "bob@buyer.example")
	want := notify.PackExpiring{
		Account: "ann@buyer.example", Pack: "Pack M", Left: 2_000_000*plan.Unit - 1, Units: 7_000_000 * plan.Unit,
		Expires: expires.UTC(), Days: 30, Link: "https://gateway.example/billing",
	}
	expect.Equal[notify.Mail](t, l.Mail, want)
	expect.Equal(t, l.Zone, "Europe/Berlin")
	expect.Equal(t, l.Topic, account.TopicPacks)
	expect.Equal(t, l.User, users[1])
	expect.True(t, l.Expires.Equal(expires), l.Expires, expires)

	b.clock.Advance(23 * 24 * time.Hour)
	b.sweepPacks(t)
	b.clock.Advance(time.Hour)
	b.sweepPacks(t)
	b.wantMails(t, "7 days before", reason(30, 0), reason(30, 1), reason(7, 0), reason(7, 1))
	b.clock.Advance(7 * 24 * time.Hour)
	b.sweepPacks(t)
	if got := b.mails(t); len(got) != 4 {
		t.Errorf("after the end: %q", got)
	}
}

func TestPackExpiry_PackOfAFewDaysIsNotifiedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, users := b.buyer(t, "UTC", false, "ann@buyer.example")
	p := b.pack(t, id, "grant/1", b.clock.Now().AddDate(0, 0, 5))
	b.sweepPacks(t)
	b.sweepPacks(t)
	b.wantMails(t, "five days before", fmt.Sprintf("pack/%s/7/%s", p.ID, users[0]))
}

func TestPackExpiry_UsedUpOrUnsubscribedIsNotNotified(t *testing.T) {
	t.Parallel()
	b := setup(t)
	soon := b.clock.Now().AddDate(0, 0, 20)
	ann, users := b.buyer(t, "UTC", false, "ann@buyer.example", "bob@buyer.example")
	empty, alone := b.pack(t, ann, "payment/1", soon), b.pack(t, ann, "payment/2", soon)
	b.drawn(t, empty, empty.Units)
	b.optOut(t, users[0], account.TopicPacks)
	b.optOut(t, users[1], account.TopicUsage)
	nobody, _ := b.buyer(t, "UTC", false)
	unread := b.pack(t, nobody, "payment/3", soon)
	cyd, declining := b.buyer(t, "UTC", false, "cyd@buyer.example")
	unwanted := b.pack(t, cyd, "payment/4", soon)
	b.optOut(t, declining[0], account.TopicPacks)
	b.sweepPacks(t)
	b.wantMails(t, "after a sweep", fmt.Sprintf("pack/%s/30/%s", alone.ID, users[1]))
	for p, want := range map[*accountdb.Pack]billingdb.PackResult{
		&empty: billingdb.PackUsedUp, &alone: billingdb.PackQueued, &unread: billingdb.PackNoRecipient,
		&unwanted: billingdb.PackDeclined,
	} {
		if got := b.packResult(t, *p, 30); got != string(want) {
			t.Errorf("pack %s: %q, want %q", p.Origin, got, want)
		}
	}
}

func TestPackExpiry_ManyGoInOneSweepAndConcurrentSweepsNotifyOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, _ := b.buyer(t, "UTC", false, "ann@buyer.example")
	const packs = 230
	for n := range packs {
		b.pack(t, id, fmt.Sprintf("payment/%d", n), b.clock.Now().AddDate(0, 0, 10).Add(time.Duration(n)*time.Minute))
	}
	done := make(chan error, 2)
	for range 2 {
		go func() { done <- b.sweeper.CheckPacks(b.ctx) }()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if got := len(b.mails(t)); got != packs {
		t.Errorf("%d mails of %d packs", got, packs)
	}
}

package alerts_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
)

// measured posts a current measurement on the board.
func (b *bundle) measured(id chain.ID, usable bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.board[id] = upstream.Posted{Known: true, Snapshot: upstream.Snapshot{
		Chain: id, MeasuredAt: b.clock.Now(), Upstreams: []upstream.UpstreamState{
			{Name: "first"}, {Name: "second", Usable: usable},
		},
	}}
}

// passes advances the clock while Ethereum is measured every 30 seconds, twice each by two workers.
func (b *bundle) passes(t *testing.T, usable bool, d time.Duration) {
	t.Helper()
	const every = 30 * time.Second
	for ; d > 0; d -= every {
		b.clock.Advance(every)
		b.measured(chain.EthMainnet, usable)
		for range 2 {
			b.sweepChains(t)
		}
	}
}

func (b *bundle) sweepChains(t *testing.T) {
	t.Helper()
	if err := b.sweeper.CheckChains(b.ctx); err != nil {
		t.Fatal(err)
	}
}

func (b *bundle) incident(t *testing.T) (id string) {
	t.Helper()
	if err := b.db.QueryRow(b.ctx, "SELECT id::text FROM incidents ORDER BY began_at DESC LIMIT 1").Scan(
		&id); err != nil {
		t.Fatal(err)
	}
	return id
}

func (b *bundle) incidents(t *testing.T) (n int) {
	t.Helper()
	if err := b.db.QueryRow(b.ctx, "SELECT count(*) FROM incidents").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestIncident_UsersAreToldOnceOfItsStartAndOnceOfItsEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	used := b.clock.Now().AddDate(0, 0, -29)
	id, users := b.buyer(t, "America/New_York", true, "ann@buyer.example", "bob@buyer.example", "cyd@buyer.example")
	b.called(t, id, chain.EthMainnet, used)
	b.optOut(t, users[2], account.TopicIncidents)
	// Bob is a member of a second account too, and gets one mail.
	second, _ := b.buyer(t, "UTC", true)
	b.join(t, second, users[1])
	b.called(t, second, chain.EthMainnet, used)
	// None of these gets a mail.
	declines, _ := b.buyer(t, "UTC", false, "dan@buyer.example")
	b.called(t, declines, chain.EthMainnet, used)
	elsewhere, _ := b.buyer(t, "UTC", true, "eve@buyer.example")
	b.called(t, elsewhere, chain.BaseMainnet, used)
	earlier, _ := b.buyer(t, "UTC", true, "fay@buyer.example")
	b.called(t, earlier, chain.EthMainnet, b.clock.Now().AddDate(0, 0, -31))

	b.measured(chain.BaseMainnet, true)
	began := b.clock.Now().Add(30 * time.Second)
	b.passes(t, false, 5*time.Minute)
	b.wantMails(t, "down for less than five minutes")
	b.passes(t, false, 2*time.Minute)
	incident := b.incident(t)
	reason := func(stage string, n int) string { return fmt.Sprintf("incident/%s/%s/%s", incident, stage, users[n]) }
	b.wantMails(t, "down for more than five minutes", reason("began", 0), reason("began", 1))
	l := b.letter(t, "ann@buyer.example")
	want := (notify.IncidentBegan{
		Account: "ann@buyer.example", Chain: "Ethereum", Began: began.UTC(), Link: "https://gateway.example/status",
	})
	expect.Equal[notify.Mail](t, l.Mail, want)
	expect.Equal(t, l.Zone, "America/New_York")
	expect.Equal(t, l.Topic, account.TopicIncidents)
	expect.Equal(t, l.User, users[0])

	ended := b.clock.Now().Add(30 * time.Second)
	b.passes(t, true, 4*time.Minute)
	b.wantMails(t, "well for less than five minutes", reason("began", 0), reason("began", 1))
	b.passes(t, true, 2*time.Minute)
	b.wantMails(t, "over", reason("began", 0), reason("began", 1), reason("over", 0), reason("over", 1))
	l = b.letter(t, "bob@buyer.example")
	said, ok := l.Mail.(notify.IncidentOver)
	require.True(t, ok, l.Mail)
	expect.True(t, said.Began.Equal(began), said.Began, began)
	expect.True(t, said.Ended.Equal(ended), said.Ended, ended)
	expect.Equal(t, said.Chain, "Ethereum")
	b.passes(t, false, 6*time.Minute)
	if got := len(b.mails(t)); got != 6 || b.incident(t) == incident {
		t.Errorf("the next incident is another one, of which both are told: %d mails", got)
	}
}

func TestIncident_ShortDisturbanceIsNone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, _ := b.buyer(t, "UTC", true, "ann@buyer.example")
	b.called(t, id, chain.EthMainnet, b.clock.Now())
	for range 3 {
		b.passes(t, false, 4*time.Minute+30*time.Second)
		b.passes(t, true, 30*time.Second)
	}
	b.wantMails(t, "down three times for less than five minutes")
	if n := b.incidents(t); n != 0 {
		t.Errorf("%d incidents stay in the record", n)
	}
}

func TestIncident_UnmeasuredTimeIsNone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, _ := b.buyer(t, "UTC", true, "ann@buyer.example")
	b.called(t, id, chain.EthMainnet, b.clock.Now())
	// The board keeps a bad measurement that is not renewed.
	b.measured(chain.EthMainnet, false)
	for range 20 {
		b.sweepChains(t)
		b.clock.Advance(30 * time.Second)
	}
	b.wantMails(t, "with an old measurement")
	// Down before a gap and after it: the time in between is unknown.
	b.passes(t, false, 3*time.Minute)
	b.clock.Advance(10 * time.Minute)
	b.passes(t, false, 4*time.Minute)
	b.wantMails(t, "with a gap between")
	b.passes(t, false, 2*time.Minute)
	if got := len(b.mails(t)); got != 1 {
		t.Errorf("%d mails after five minutes without a gap, want one", got)
	}
}

func TestIncident_FlappingChainIsOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, _ := b.buyer(t, "UTC", true, "ann@buyer.example")
	b.called(t, id, chain.EthMainnet, b.clock.Now())
	b.passes(t, false, 6*time.Minute)
	for range 3 {
		b.passes(t, true, 4*time.Minute)
		b.passes(t, false, time.Minute)
	}
	if got := b.mails(t); len(got) != 1 {
		t.Errorf("the mails are %q, want the first one", got)
	}
}

// A chain that is no longer served is never measured again: its incident ends when it was last
// seen, and the users who were told of it get a mail.
func TestIncident_EndsWhenItsChainIsServedNoMore(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, users := b.buyer(t, "UTC", true, "ann@buyer.example")
	b.called(t, id, chain.EthMainnet, b.clock.Now())
	b.passes(t, false, 6*time.Minute)
	seen, began := b.clock.Now(), b.incident(t)
	b.serve(chain.BaseMainnet)
	b.sweepChains(t) // another worker has just measured it
	b.serve(chain.EthMainnet, chain.BaseMainnet)
	b.clock.Advance(time.Hour)
	b.sweepChains(t)
	b.serve()
	b.sweepChains(t)
	reason := "incident/" + began + "/%s/" + users[0].String()
	b.wantMails(t, "measured by somebody, served, and before any chain is", fmt.Sprintf(reason, "began"))

	b.serve(chain.BaseMainnet)
	b.sweepChains(t)
	b.wantMails(t, "served no more", fmt.Sprintf(reason, "began"), fmt.Sprintf(reason, "over"))
	if said, ok := b.letter(t, "ann@buyer.example").Mail.(notify.IncidentOver); !ok || !said.Ended.Equal(seen) {
		t.Errorf("it says %+v, want the end at %s", said, seen)
	}

	// Served again and down again is a new incident; an unconfirmed one leaves nothing.
	b.serve(chain.EthMainnet)
	b.passes(t, false, time.Minute)
	b.serve(chain.BaseMainnet)
	b.clock.Advance(time.Hour)
	b.sweepChains(t)
	if n := b.incidents(t); n != 1 {
		t.Errorf("%d incidents are in the record, want the one that was news", n)
	}
}

func TestIncident_NotifyingManyContinuesWhereItWasInterrupted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const accounts = 230
	for n := range accounts {
		id, _ := b.buyer(t, "UTC", true, fmt.Sprintf("user%d@buyer.example", n))
		b.called(t, id, chain.EthMainnet, b.clock.Now())
	}
	b.passes(t, false, 5*time.Minute)
	b.clock.Advance(30 * time.Second)
	b.measured(chain.EthMainnet, false)
	b.interrupt(150)
	if err := b.sweeper.CheckChains(b.ctx); err == nil {
		t.Fatal("nothing interrupted it")
	}
	if got := len(b.mails(t)); got != 100 {
		t.Fatalf("%d mails when it was interrupted, want the first page", got)
	}
	b.interrupt(-1)
	before := b.prepared()
	b.sweepChains(t)
	if got := len(b.mails(t)); got != accounts {
		t.Errorf("%d mails to %d users", got, accounts)
	}
	if again := b.prepared() - before; again != accounts-100 {
		t.Errorf("%d letters were written after the interruption, want those of the other pages", again)
	}
}

func TestIncident_EndedWhileNotifyingIsOverForThoseWhoKnow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const accounts = 130
	for n := range accounts {
		id, _ := b.buyer(t, "UTC", true, fmt.Sprintf("user%d@buyer.example", n))
		b.called(t, id, chain.EthMainnet, b.clock.Now())
	}
	b.passes(t, false, 5*time.Minute)
	b.clock.Advance(30 * time.Second)
	b.measured(chain.EthMainnet, false)
	b.interrupt(120)
	if err := b.sweeper.CheckChains(b.ctx); err == nil {
		t.Fatal("nothing interrupted it")
	}
	// The chain is measured as up, and the mails cannot be written until the incident is over.
	for range 12 {
		b.clock.Advance(30 * time.Second)
		b.measured(chain.EthMainnet, true)
		_ = b.sweeper.CheckChains(b.ctx)
	}
	b.interrupt(-1)
	b.sweepChains(t)
	if got := len(b.mails(t)); got != 200 {
		t.Errorf("%d mails, want two to each of the hundred who were told that it began", got)
	}
	if l := b.letter(t, b.letters[0].To); l.Mail.Kind() != notify.KindIncidentOver {
		t.Errorf("the last letter is %+v", l)
	}
}

// interrupt makes preparing mails fail after the given number; -1 for never.
func (b *bundle) interrupt(after int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failAfter = after
	b.written = 0
}

func (b *bundle) prepared() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.letters)
}

func TestIncident_IsRecordedOnceHoweverManyWatch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	start := b.clock.Now().UTC().Truncate(upstream.SlotLength)
	b.slots = map[chain.ID][]upstream.Slot{chain.EthMainnet: {
		{Start: start.Add(-upstream.SlotLength), Calls: 4, Attempts: 4, Latencies: map[int]int64{
			7: 4, -1: 1, account.LatencyBuckets: 1,
		}},
		{Start: start, Calls: 100, Rerouted: 3, Lost: 30, Attempts: 160, Failed: 60},
		{Start: start.Add(24 * time.Hour), Calls: 1, Attempts: 1}, // a wrong clock
	}}
	b.passes(t, true, 3*time.Minute)
	b.passes(t, false, time.Minute)
	all, err := b.store.LoadChains(b.ctx, start.AddDate(0, 0, -2), start.Add(-time.Hour))
	if err != nil || all[chain.EthMainnet] == nil {
		t.Fatalf("%v, %v", all, err)
	}
	r := all[chain.EthMainnet]
	var up, degraded, down time.Duration
	for _, d := range r.Days {
		up, degraded, down = up+d.Up, degraded+d.Degraded, down+d.Down
	}
	// One of two upstreams was usable from the first measurement until the first without any.
	expect.Equal(t, up, 0)
	expect.Equal(t, degraded, 3*time.Minute)
	expect.Equal(t, down, 30*time.Second)
	expect.Equal(t, r.Newest.State, chain.Down)
	expect.Equal(t, r.Newest.Why, upstream.WhyNoUpstream)
	w := r.Windows[0]
	expect.Equal(t, w.Calls, 104)
	expect.Equal(t, w.Rerouted, 3)
	expect.Equal(t, w.Lost, 30)
	expect.Equal(t, w.Attempts, 164)
	expect.Equal(t, w.Latency.Calls(), 4)
}

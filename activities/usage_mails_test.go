package activities_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/messaging/outbox"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/peopledb"
	"github.com/chainaccess/gateway/store/usagedb"
)

// audience is a scripted store of people; it also keeps their mails.
type audience struct {
	members  []peopledb.Member
	name     string // of the account
	settings accountdb.Settings
	letters  []outbox.Mail
	out      []account.UserID // users who declined mails about usage
	err      error            // of everything
}

func (h *audience) ListMembers(context.Context, account.ID) ([]peopledb.Member, error) {
	return h.members, h.err
}

func (h *audience) ListMemberships(_ context.Context, of account.UserID) ([]peopledb.Membership, error) {
	return []peopledb.Membership{{Account: account.NewID(), Name: "another"}, {Account: buyer, Name: h.name}}, h.err
}

func (h *audience) LoadSettings(context.Context, account.ID) (accountdb.Settings, error) {
	return h.settings, h.err
}

func (h *audience) ListOptedOut(_ context.Context, _ account.ID, topic account.Topic) ([]account.UserID, error) {
	if topic != account.TopicUsage {
		return nil, errors.New("usage was not asked for")
	}
	return h.out, h.err
}

func (h *audience) Queue(_ context.Context, letters ...outbox.Mail) error {
	h.letters = append(h.letters, letters...)
	return h.err
}

var (
	buyer = account.NewID()
	today = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
)

func newAudience(t *testing.T, addresses ...string) (*audience, *activities.UsageMails) {
	t.Helper()
	h := &audience{settings: accountdb.Settings{NotifyUsage80: true, NotifyUsage100: true, TimeZone: "Europe/Berlin"}}
	for _, address := range addresses {
		email, refusal := account.ParseEmail(address)
		if refusal != nil {
			t.Fatal(refusal)
		}
		h.members = append(h.members, peopledb.Member{
			User:  account.UserID{UUID: uuid.Must(uuid.NewV7())},
			Email: email,
		})
	}
	return h, &activities.UsageMails{
		People: h, Letters: h, PublicURL: "https://gateway.example", Now: func() time.Time { return today },
	}
}

// message reports a share of November's allowance on a plan.
func message(key string, percent int) activities.UsageMessage {
	terms := account.Terms{Plan: plan.Must(key)}
	return activities.UsageMessage{
		Notice:  usagedb.NoticeID{UsagePeriod: usagedb.UsagePeriod{Account: buyer, Period: november}, Percent: percent},
		Account: accountdb.Account{ID: buyer, Kind: accountdb.KindOwner, Plan: key}, Allowance: terms.Allowance(),
		Totals: usagedb.PeriodTotals{PlanUnits: terms.Allowance()/100*plan.Units(percent) + plan.Unit},
	}
}

func TestUsageMail_TellsEveryUserOfAnAccountOnce(t *testing.T) {
	t.Parallel()
	h, mails := newAudience(t, "ann@buyer.example", "bob@buyer.example")
	for range 2 {
		if err := mails.UsageReached(t.Context(), message(plan.Free, 80)); err != nil {
			t.Fatal(err)
		}
	}
	in := expect.In(t, "one reason for each user")
	require.Len(in, h.letters, 4)
	require.Equal(in, h.letters[0].Reason, h.letters[2].Reason)
	require.Equal(in, h.letters[1].Reason, h.letters[3].Reason)
	require.NotEqual(in, h.letters[0].Reason, h.letters[1].Reason)
	for i, l := range h.letters[:2] {
		want := "usage/" + buyer.String() + "/2026-11-01/80/" + h.members[i].User.String()
		in := expect.In(t, "letter %d", i)
		expect.Equal(in, l.Reason, want)
		expect.Equal(in, l.To, h.members[i].Email.Address())
		expect.Equal(in, l.Zone, "Europe/Berlin")
		expect.Equal(in, l.Account, buyer)
		expect.Equal(in, l.Topic, account.TopicUsage)
		expect.Equal(in, l.User, h.members[i].User)
	}
	want := notify.UsageReached{
		Account: "ann@buyer.example", Percent: 80, Start: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC),
		End: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), Used: 800_001 * plan.Unit, Allowance: 1_000_000 * plan.Unit,
		Next: notify.NextRefused, Link: "https://gateway.example/overview",
	}
	if h.letters[1].Mail != want {
		t.Errorf("it says %+v, want %+v", h.letters[1].Mail, want)
	}
}

func TestUsageMail_SkipsAUserWhoWantsNone(t *testing.T) {
	t.Parallel()
	h, mails := newAudience(t, "ann@buyer.example", "bob@buyer.example")
	h.out = []account.UserID{h.members[0].User}
	if err := mails.UsageReached(t.Context(), message(plan.Free, 80)); err != nil {
		t.Fatal(err)
	}
	if len(h.letters) != 1 || h.letters[0].To != "bob@buyer.example" {
		t.Errorf("the letters are %+v, want one to bob", h.letters)
	}
}

func TestUsageMail_SaysWhatHappensNext(t *testing.T) {
	t.Parallel()
	h, mails := newAudience(t, "ann@buyer.example")
	h.name = "Buyer"
	packs := message(plan.Pro, 100)
	packs.Account.Packs = []account.Pack{
		{Units: 10 * plan.Unit, Used: 4 * plan.Unit, Expires: today.Add(time.Hour)},
		{Units: 100 * plan.Unit, Expires: today},
		{Units: 5 * plan.Unit, Used: 5 * plan.Unit, Expires: today.Add(time.Hour)},
	}
	cycle := message(plan.Pro, 100)
	cycle.Account.Cycle = plan.Cycle{Anchor: time.Date(2026, 10, 15, 14, 30, 0, 0, time.UTC)}
	cycle.Notice.Period = "2026-11-15"
	other := cycle
	other.Notice.Period = november // of the cycle before
	for _, m := range []activities.UsageMessage{packs, message(plan.Builder, 100), cycle, other} {
		t.Run(m.Allowance.String(), func(t *testing.T) {
			if err := mails.UsageReached(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		})
	}
	said := make([]notify.UsageReached, len(h.letters))
	for i, l := range h.letters {
		said[i], _ = l.Mail.(notify.UsageReached)
	}
	s := said[0]
	in := expect.In(t, "with packs")
	expect.Equal(in, s.Next, notify.NextPacks)
	expect.Equal(in, s.Packs, 6*plan.Unit)
	expect.Equal(in, s.Account, "Buyer")
	s = said[1]
	in = expect.In(t, "on Builder")
	expect.Equal(in, s.Next, notify.NextSlower)
	expect.Equal(in, s.SlowRate, "10 requests per second")
	expect.Equal(in, s.Allowance, 20_000_000*plan.Unit)
	s = said[2]
	in = expect.In(t, "in a cycle of its own")
	expect.True(in, s.Start.Equal(time.Date(2026, 11, 15, 14, 30, 0, 0, time.UTC)), s.Start)
	expect.True(in, s.End.Equal(time.Date(2026, 12, 15, 14, 30, 0, 0, time.UTC)), s.End)
	expect.Equal(in, s.Next, notify.NextRefused)
	if s := said[3]; !s.Start.Equal(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)) ||
		!s.End.Equal(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("in a period of another cycle: %+v", s)
	}
}

func TestUsageMail_SendsAccountsOnlyWhatTheyWant(t *testing.T) {
	t.Parallel()
	unlimited := message(plan.Enterprise, 100)
	for _, c := range []struct {
		name    string
		message activities.UsageMessage
		change  func(*audience)
		want    error
	}{
		{"80 switched off", message(plan.Free, 80), func(h *audience) {
			h.settings.NotifyUsage80 = false
		}, activities.ErrDeclined},
		{"100 switched off", message(plan.Free, 100), func(h *audience) {
			h.settings.NotifyUsage100 = false
		}, activities.ErrDeclined},
		{"80 while 100 is off", message(plan.Free, 80), func(h *audience) { h.settings.NotifyUsage100 = false }, nil},
		{"100 while 80 is off", message(plan.Free, 100), func(h *audience) { h.settings.NotifyUsage80 = false }, nil},
		{"the only user wants none", message(plan.Free, 100), func(h *audience) {
			h.out = []account.UserID{h.members[0].User}
		}, activities.ErrDeclined},
		{"nobody", message(plan.Free, 100), func(h *audience) { h.members = nil }, activities.ErrNoRecipient},
		{"no allowance any more", unlimited, func(*audience) {}, activities.ErrOutdated},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, mails := newAudience(t, "ann@buyer.example")
			c.change(h)
			if err := mails.UsageReached(t.Context(), c.message); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			if sent := len(h.letters); (sent == 1) != (c.want == nil) {
				t.Errorf("%d letters", sent)
			}
		})
	}
	h, mails := newAudience(t, "ann@buyer.example")
	h.err = errors.New("the record is away")
	if err := mails.UsageReached(t.Context(), message(plan.Free, 80)); !errors.Is(err, h.err) {
		t.Errorf("got %v, want an error that is tried again", err)
	}
}

func TestNotice_EndsAsItsMessengerReports(t *testing.T) {
	t.Parallel()
	for want, said := range map[string]error{
		activities.NoticeDeclined: activities.ErrDeclined, activities.NoticeSuperseded: activities.ErrOutdated,
		activities.NoticeNoRecipient: activities.ErrNoRecipient,
	} {
		t.Run(want, func(t *testing.T) {
			ctx, n := setupNotices(t)
			n.letters.err = said
			n.use(ctx, t, "a", plan.Must(plan.Free).Included)
			n.deliver(t, 100, 2, want)
			if row := n.row(ctx, t, 100); row.Result != want || !row.DeliveredAt.IsZero() {
				t.Errorf("%v: the row is %+v", said, row)
			}
		})
	}
}

// TestUsageMail_GoesFromPostgreSQLToTheOutbox runs on a real database with default settings and one
// member.
func TestUsageMail_GoesFromPostgreSQLToTheOutbox(t *testing.T) {
	t.Parallel()
	ctx, n := setupNotices(t)
	letters, err := outbox.New(n.store, notify.Site{
		Name: "Gateway", URL: "https://gateway.example", Contact: "a@b.example",
	}, []byte(strings.Repeat("secret", 8)), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	email, _ := account.ParseEmail("ann@buyer.example")
	h, _ := newAudience(t)
	h.members = []peopledb.Member{{User: account.UserID{UUID: uuid.Must(uuid.NewV7())}, Email: email}}
	h.settings, err = n.store.LoadSettings(ctx, n.account)
	if err != nil {
		t.Fatal(err)
	}
	n.notices.Messenger = &activities.UsageMails{
		People: h, Letters: letters, PublicURL: "https://gateway.example", Now: time.Now,
	}
	n.use(ctx, t, "a", plan.Must(plan.Free).Included)
	n.deliver(t, 100, 1, activities.NoticeDelivered)
	state, err := n.store.FindMail(ctx, "usage/"+n.account.String()+"/2026-11-01/100/"+h.members[0].User.String())
	require.NoError(t, err)
	expect.Equal(t, state.Kind, string(notify.KindUsageReached))
	expect.True(t, slices.Contains(notify.Kinds(), notify.Kind(state.Kind)))
}

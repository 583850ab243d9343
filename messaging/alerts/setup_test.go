package alerts_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/messaging/alerts"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/messaging/outbox"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/maildb"
)

const testTimeout = 60 * time.Second

// bundle is a watcher on a real database, with a clock that the test moves, a board that it writes,
// and the mails before they are encrypted.
type bundle struct {
	ctx     context.Context //nolint:containedctx // of the test
	store   *store.Store
	clock   *testkit.Clock
	sweeper *alerts.Watcher
	db      *pgx.Conn
	outbox  *outbox.Outbox

	mu      sync.Mutex // guards the fields below
	board   map[chain.ID]upstream.Posted
	served  []chain.ID
	slots   map[chain.ID][]upstream.Slot
	letters []outbox.Mail
	// failAfter is how many mails are prepared before all fail; negative for no failure. written
	// counts them.
	failAfter, written int
}

func (b *bundle) ReadAll(_ context.Context, ids ...chain.ID) (map[chain.ID]upstream.Posted, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := map[chain.ID]upstream.Posted{}
	for _, id := range ids {
		if posted, ok := b.board[id]; ok {
			all[id] = posted
		}
	}
	return all, nil
}

func (b *bundle) ReadSlots(context.Context, ...chain.ID) (map[chain.ID][]upstream.Slot, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.slots, nil
}

func (b *bundle) chains() []chain.ID {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.served
}

// serve sets which chains are served from now on.
func (b *bundle) serve(ids ...chain.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.served = ids
}

func (b *bundle) Prepare(l outbox.Mail) (maildb.NewMail, error) { //nolint:gocritic // the signature is the package's
	b.mu.Lock()
	if b.written++; b.failAfter >= 0 && b.written > b.failAfter {
		b.mu.Unlock()
		return maildb.NewMail{}, errors.New("interrupted by the test")
	}
	b.letters = append(b.letters, l)
	b.mu.Unlock()
	return b.outbox.Prepare(l)
}

func setup(t *testing.T) *bundle {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	t.Cleanup(cancel)
	b := &bundle{
		ctx: ctx, clock: testkit.NewClock(time.Now().Truncate(time.Second)), board: map[chain.ID]upstream.Posted{},
		failAfter: -1, served: []chain.ID{chain.EthMainnet, chain.BaseMainnet},
	}
	url := testkit.Postgres(t)
	var err error
	if b.store, err = store.Open(ctx, url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.store.Close)
	if b.db, err = pgx.Connect(ctx, url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.db.Close(context.Background()) })
	site := notify.Site{Name: "Gateway", URL: "https://gateway.example", Contact: "support@gateway.example"}
	if b.outbox, err = outbox.New(b.store, site, []byte(strings.Repeat("secret", 8)), b.clock.Now); err != nil {
		t.Fatal(err)
	}
	b.sweeper = alerts.New(alerts.Options{
		Record: b.store, Board: b, Chains: b.chains, Mails: b,
		PublicURL: site.URL, Now: b.clock.Now, Logger: slog.New(slog.DiscardHandler),
	})
	return b
}

// exec changes the database as other parts of the program do.
func (b *bundle) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	if _, err := b.db.Exec(b.ctx, sql, args...); err != nil {
		t.Fatal(err)
	}
}

// buyer creates an account with a member for each address, in the order of joining.
func (b *bundle) buyer(t *testing.T, zone string, incidents bool, addresses ...string) (account.ID, []account.UserID) {
	t.Helper()
	a := accountdb.NewAccount{ID: account.NewID(), Kind: accountdb.KindOwner, Plan: plan.Pro}
	if _, err := b.store.CreateAccount(b.ctx, a); err != nil {
		t.Fatal(err)
	}
	b.exec(t, "INSERT INTO account_settings (account_id, notify_incidents, time_zone) VALUES ($1, $2, $3)", a.ID.UUID,
		incidents, zone)
	users := make([]account.UserID, len(addresses))
	for i, address := range addresses {
		users[i] = account.NewUserID()
		b.exec(t, "INSERT INTO users (id, email, email_key, created_at) VALUES ($1, $2, $2, now())", users[i].UUID,
			address)
		b.join(t, a.ID, users[i])
	}
	return a.ID, users
}

func (b *bundle) join(t *testing.T, id account.ID, user account.UserID) {
	t.Helper()
	b.exec(t, "INSERT INTO members (account_id, user_id, role, joined_at, last_used_at) VALUES ($1, $2, 'owner', "+
		"clock_timestamp(), now())", id.UUID, user.UUID)
}

// called records a call of a chain by an account.
func (b *bundle) called(t *testing.T, id account.ID, of chain.ID, at time.Time) {
	t.Helper()
	start, _ := plan.CalendarMonth(at)
	b.exec(t, `INSERT INTO usage_hours (account_id, period, hour, key_id, agent, chain, service, method, class, outcome, source, tier, requests, units)
		VALUES ($1, $2, date_trunc('hour', $3::timestamptz, 'UTC'), $1, '', $4, 'rpc', 'eth_call', 'standard', 'ok', 'plan', 'balanced', 1, 1000)`, id.UUID, start, at, string(of))
}

func (b *bundle) optOut(t *testing.T, user account.UserID, topic account.Topic) {
	t.Helper()
	if err := b.store.OptOut(b.ctx, user, topic); err != nil {
		t.Fatal(err)
	}
}

func (b *bundle) sweepPacks(t *testing.T) {
	t.Helper()
	if err := b.sweeper.CheckPacks(b.ctx); err != nil {
		t.Fatal(err)
	}
}

// mails returns the reasons of all queued mails, in order.
func (b *bundle) mails(t *testing.T) []string {
	t.Helper()
	rows, err := b.db.Query(b.ctx, "SELECT reason FROM mails ORDER BY reason")
	if err != nil {
		t.Fatal(err)
	}
	reasons, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return reasons
}

func (b *bundle) wantMails(t *testing.T, when string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if got := b.mails(t); !slices.Equal(got, want) {
		t.Fatalf("%s: the mails are\n%s\nwant\n%s", when, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// letter returns the newest mail to an address.
func (b *bundle) letter(t *testing.T, to string) outbox.Mail {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range slices.Backward(b.letters) {
		if l.To == to {
			return l
		}
	}
	t.Fatalf("no letter to %s", to)
	return outbox.Mail{}
}

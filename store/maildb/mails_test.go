package maildb_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/internal/storetest"
	"github.com/chainaccess/gateway/store/maildb"
)

// newMail returns a mail to a recipient of its own, with content that nobody decrypts.
func newMail(reason string) maildb.NewMail {
	digest := sha256.Sum256([]byte(reason))
	return maildb.NewMail{
		ID: maildb.NewMailID(), Reason: reason, Kind: "welcome", RecipientDigest: digest[:],
		Recipient: []byte("sealed"),
		Payload:   []byte("sealed"), Expires: time.Now().Add(time.Hour), MaxOfRecipient: 10,
	}
}

func TestMails_AreQueuedTogetherOrNotAtAll(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	stray := newMail("stray")
	stray.Account = account.NewID() // does not exist
	if err := s.QueueMail(ctx, newMail("first"), stray); err == nil {
		t.Error("a mail about an account that does not exist was queued")
	}
	if claimed := storetest.Must[[]maildb.ClaimedMail](t)(s.ClaimMails(ctx, time.Minute, 10)); len(claimed) != 0 {
		t.Errorf("%d mails are there, want none of the two", len(claimed))
	}
}

func TestMails_OnlyDueOnesAreClaimed(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	over, later, due := newMail("over"), newMail("later"), newMail("due")
	over.Expires = time.Now().Add(-time.Second)
	if err := s.QueueMail(ctx, over, later, due); err != nil {
		t.Fatal(err)
	}
	if err := s.RetryMail(ctx, later.ID, 0, time.Hour, "greylisted"); err != nil {
		t.Fatal(err)
	}
	claimed := storetest.Must[[]maildb.ClaimedMail](t)(s.ClaimMails(ctx, time.Minute, 10))
	in := expect.In(t, "the one that is due")
	require.Len(in, claimed, 1)
	expect.Equal(in, claimed[0].ID, due.ID)
	expect.Equal(in, claimed[0].Attempt, 1)
	expect.EqualSlices(in, claimed[0].Payload, []byte("sealed"))
	expect.AtMost(in, claimed[0].Expires.Sub(due.Expires).Abs(), time.Millisecond)
	// A delayed mail is due at its expiry at the latest.
	if state := storetest.Must[maildb.MailState](t)(s.FindMail(ctx, "later")); state.Due.After(later.Expires) ||
		state.LastError != "greylisted" {
		t.Errorf("the one that was put off is %+v", state)
	}
}

// TestMails_ClaimsDoNotWaitForEachOther locks a mail like a claim that has not committed yet.
func TestMails_ClaimsDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	ctx, s, conn := setupBeside(t)
	held, free := newMail("held"), newMail("free")
	if err := s.QueueMail(ctx, held, free); err != nil {
		t.Fatal(err)
	}
	tx := storetest.Must[pgx.Tx](t)(conn.Begin(ctx))
	if _, err := tx.Exec(ctx, "SELECT id FROM mails WHERE reason = 'held' FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	claimed := storetest.Must[[]maildb.ClaimedMail](t)(s.ClaimMails(ctx, time.Minute, 10))
	if len(claimed) != 1 || claimed[0].ID != free.ID {
		t.Errorf("claimed %+v, want the one that nobody holds", claimed)
	}
	if err := tx.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	if claimed = storetest.Must[[]maildb.ClaimedMail](t)(s.ClaimMails(ctx, time.Minute, 10)); len(claimed) != 1 ||
		claimed[0].ID != held.ID {
		t.Errorf("claimed %+v, want the other one", claimed)
	}
}

func TestMails_SentAfterAllIsNoFailure(t *testing.T) {
	t.Parallel()
	ctx, s, conn := setupBeside(t)
	m := newMail("slow")
	if err := s.QueueMail(ctx, m); err != nil {
		t.Fatal(err)
	}
	if claimed := storetest.Must[[]maildb.ClaimedMail](t)(s.ClaimMails(ctx, time.Hour, 1)); len(claimed) != 1 {
		t.Fatal("the mail was not claimed")
	}
	// Its sender is slow: the lease and the mail expire, so it is given up meanwhile.
	if _, err := conn.Exec(ctx,
		"UPDATE mails SET due_at = now() - interval '1 s', expires_at = now() - interval '1 s'"); err != nil {
		t.Fatal(err)
	}
	if kinds := storetest.Must[[]string](t)(s.ExpireMails(ctx, 10)); len(kinds) != 1 {
		t.Fatalf("%d mails were given up", len(kinds))
	}
	if err := s.EndMail(ctx, m.ID); err != nil {
		t.Fatal(err)
	}
	state := storetest.Must[maildb.MailState](t)(s.FindMail(ctx, "slow"))
	expect.False(t, state.SentAt.IsZero())
	expect.True(t, state.FailedAt.IsZero())
	expect.Equal(t, state.LastError, "")
	expect.True(t, state.Wiped)
}

// setupBeside returns a store and a separate connection.
func setupBeside(t *testing.T) (context.Context, *store.Store, *pgx.Conn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), storetest.Timeout)
	t.Cleanup(cancel)
	url := testkit.Postgres(t)
	s := storetest.Must[*store.Store](t)(store.Open(ctx, url))
	t.Cleanup(s.Close)
	conn := storetest.Must[*pgx.Conn](t)(pgx.Connect(ctx, url))
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return ctx, s, conn
}

// TestMails_UndeliveredDoNotCrowdARecipient ages the queued mails by more than a day. The
// remaining ones of the day were given up.
func TestMails_UndeliveredDoNotCrowdARecipient(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), storetest.Timeout)
	defer cancel()
	url := testkit.Postgres(t)
	s := storetest.Must[*store.Store](t)(store.Open(ctx, url))
	t.Cleanup(s.Close)
	conn := storetest.Must[*pgx.Conn](t)(pgx.Connect(ctx, url))
	defer func() { _ = conn.Close(context.Background()) }()
	const maxMails = 3
	queue := func(reason string) maildb.MailState {
		m := newMail(reason)
		m.RecipientDigest, m.MaxOfRecipient = newMail("").RecipientDigest, maxMails
		if err := s.QueueMail(ctx, m); err != nil {
			t.Fatal(err)
		}
		return storetest.Must[maildb.MailState](t)(s.FindMail(ctx, reason))
	}
	for i := range 2 * maxMails {
		if state := queue(fmt.Sprint(i)); (state.LastError == maildb.MailCrowded) != (i >= maxMails) {
			t.Errorf("mail %d of a day is %+v", i, state)
		}
	}
	if _, err := conn.Exec(ctx,
		"UPDATE mails SET created_at = now() - interval '25 hours' WHERE failed_at IS NULL"); err != nil {
		t.Fatal(err)
	}
	if state := queue("next"); !state.FailedAt.IsZero() {
		t.Errorf("nothing was sent within a day, and yet the next mail is %+v", state)
	}
}

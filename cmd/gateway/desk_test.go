package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/cmd/internal/operator"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/supportdb"
)

// setUpDesk returns books that are configured to queue mails.
func setUpDesk(t *testing.T) *accountsEnv {
	t.Helper()
	b := openAccountsEnv(t)
	delete(b.env, "REDIS_URL")
	b.env["KEY_PEPPER"], b.env["PUBLIC_URL"], b.env["CONTACT"] = strings.Repeat("pepper", 8), "https://gateway.example",
		"support@gateway.example"
	return b
}

// person creates a user with an account of their own.
func (b *accountsEnv) person(t *testing.T, address string) (account.UserID, account.ID) {
	t.Helper()
	user, of := uuid.Must(uuid.NewV7()), account.NewID()
	if _, err := b.store.CreateAccount(b.ctx, accountdb.NewAccount{
		ID: of, Kind: accountdb.KindOwner, Plan: "free",
	}); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		`INSERT INTO users (id, email, email_key, created_at) VALUES ('` + user.String() + `', '` + address + `', '` +
			address + `', now())`,
		`INSERT INTO members (account_id, user_id, role, joined_at, last_used_at) VALUES ('` + of.String() + `', '` +
			user.String() + `', 'owner', now(), now())`,
	} {
		if _, err := b.db.Exec(b.ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	return account.UserID{UUID: user}, of
}

func (b *accountsEnv) file(t *testing.T, of account.ID, user account.UserID, subject, message string) ticket.Number {
	t.Helper()
	made, _, err := b.store.CreateTicket(b.ctx, supportdb.NewTicket{
		Writer: supportdb.Writer{Account: of, User: user, Channel: "console"}, Subject: subject, Message: message,
		Category: ticket.Question, Priority: ticket.Normal, At: time.Now(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return made.Number
}

// ops runs a command that succeeds.
func (b *accountsEnv) ops(t *testing.T, args ...string) string {
	t.Helper()
	exit, out, errs := run(t, b.env, append([]string{"ops"}, args...)...)
	if exit != 0 || errs != "" {
		t.Fatalf("%v: exit code %d, %q, %q", args, exit, out, errs)
	}
	return out
}

// refusesTo runs a command that fails and returns its error output.
func (b *accountsEnv) refusesTo(t *testing.T, args ...string) string {
	t.Helper()
	exit, out, errs := run(t, b.env, append([]string{"ops"}, args...)...)
	if exit == 0 || out != "" {
		t.Errorf("%v: exit code %d, %q", args, exit, out)
	}
	return errs
}

func (b *accountsEnv) mails(t *testing.T) map[string]int {
	t.Helper()
	waiting, err := b.store.CountWaitingMails(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, w := range waiting {
		counts[w.Kind] = w.Count
	}
	return counts
}

func TestDeskCommand_ListsShowsAnswersAndResolvesTickets(t *testing.T) {
	t.Parallel()
	b := setUpDesk(t)
	if out := b.ops(t, "tickets", "list"); !strings.Contains(out, "none") {
		t.Errorf("without tickets the list is %q", out)
	}
	user, of := b.person(t, "ann@buyer.example")
	n := b.file(t, of, user, "<b>Slow</b>", "Why?\n<script>alert(1)</script>").Reference()
	out := b.ops(t, "tickets", "list", "--priority", "normal", "--account", of.String())
	expect.Contains(t, out, n)
	expect.Contains(t, out, "<b>Slow</b>")
	expect.Contains(t, out, "free")
	if out := b.ops(t, "tickets", "list", "--status", "closed"); strings.Contains(out, n) {
		t.Errorf("closed are %q", out)
	}
	shown := b.ops(t, "tickets", "show", n)
	for _, want := range []string{
		"ann@buyer.example", "> <script>alert(1)</script>", "filed it; since then it is open", "--seen 1",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("the ticket lacks %q: %s", want, shown)
		}
	}
	if out := b.ops(t, "tickets", "reply", n, "--seen", "1", "--message", "Since when?"); !strings.Contains(out,
		"waiting customer, with 2 messages") {
		t.Errorf("answered it is %q", out)
	}
	if said := b.refusesTo(t, "tickets", "reply", n, "--seen", "1", "--message", "Well?"); !strings.Contains(said,
		"has 2 messages and --seen is 1") {
		t.Errorf("a reply that overlooks a message is refused with %q", said)
	}
	if out := b.ops(t, "tickets", "resolve", n, "--seen", "2"); !strings.Contains(out, "resolved") {
		t.Errorf("resolved it is %q", out)
	}
	if shown := b.ops(t, "tickets", "show", n); !strings.Contains(shown, operatorName()) ||
		!strings.Contains(shown, "resolved it; since then it is resolved") {
		t.Errorf("the history is %s", shown)
	}
	got := b.mails(t)
	in := expect.In(t, "mails wait")
	expect.Equal(in, got["ticket_replied"], 1)
	expect.Equal(in, got["ticket_resolved"], 1)
	expect.Len(in, got, 2)
	var v operator.DeskTicketHistory
	err := json.Unmarshal([]byte(b.ops(t, "tickets", "show", n, "--json")), &v)
	in = expect.In(t, "as JSON")
	require.NoError(in, err)
	expect.Equal(in, v.Reference, n)
	expect.Len(in, v.History, 3)
	expect.Len(in, v.Messages, 2)
	for _, wrong := range [][]string{
		{"tickets", "list", "--status", "lost"},
		{"tickets", "list", "--priority", "x"},
		{"tickets", "list", "--account", "x"},
		{"tickets", "list", "--limit", "0"},
		{"tickets", "show", "1001"},
		{"tickets", "show", "CAG-999999"},
		{"tickets", "reply", n, "--message", "x"},
		{"tickets", "reply", n, "--seen", "2"},
		{"tickets", "reply", "CAG-999999", "--seen", "1", "--message", "x"},
		{"tickets", "reply", n, "--seen", "2", "--message", strings.Repeat("x", 5001)},
	} {
		if said := b.refusesTo(t, wrong...); said == "" {
			t.Errorf("%v is refused without a word", wrong)
		}
	}
}

func TestDeskCommand_AnswersFeedbackAndWishesAndReadsTheWaitlist(t *testing.T) {
	t.Parallel()
	b := setUpDesk(t)
	user, of := b.person(t, "ann@buyer.example")
	given, err := b.store.SubmitFeedback(b.ctx, supportdb.Writer{Account: of, User: user, Channel: "api"},
		supportdb.Feedback{
			ID: supportdb.NewFeedbackID(), Kind: "feature", Title: "WebSockets", Body: "Please.", CreatedAt: time.Now(),
		}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if out := b.ops(t, "feedback", "list"); !strings.Contains(out, given.ID.String()) ||
		!strings.Contains(out, "> Please.") {
		t.Errorf("feedback is %q", out)
	}
	b.ops(t, "feedback", "answer", given.ID.String(), "--status", "planned", "--message", "In spring.", "--seen", "0")
	b.refusesTo(t, "feedback", "answer", given.ID.String(), "--status", "declined", "--seen", "0")
	b.refusesTo(t, "feedback", "answer", uuid.NewString(), "--status", "declined", "--seen", "0")
	b.refusesTo(t, "feedback", "answer", given.ID.String(), "--status", "great", "--seen", "1")
	if out := b.ops(t, "feedback", "list", "--status", "planned"); !strings.Contains(out, "answered:\n> In spring.") {
		t.Errorf("planned is %q", out)
	}
	wish := uuid.Must(uuid.NewV7())
	for _, sql := range []string{
		`INSERT INTO wishlist (id, items, email, channel, created_at) VALUES ('` + wish.String() +
			`', 'A node', 'bob@buyer.example', 'api', now())`,
		`INSERT INTO waitlist (email_key, email, qualifier, source, product_updates, channel, joined_at) VALUES ` +
			`('cem@buyer.example', 'cem@buyer.example', 'curious', 'a friend', true, 'api', now())`,
	} {
		if _, err := b.db.Exec(b.ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	if out := b.ops(t, "wishlist", "list"); !strings.Contains(out, "bob@buyer.example") ||
		!strings.Contains(out, "> A node") {
		t.Errorf("wishes are %q", out)
	}
	b.ops(t, "wishlist", "answer", wish.String(), "--status", "talking", "--message", "When may we call you?",
		"--seen", "0")
	if out := b.ops(t, "wishlist", "list", "--status", "all"); !strings.Contains(out, "talking") ||
		!strings.Contains(out, "When may we call you?") {
		t.Errorf("answered wishes are %q", out)
	}
	if _, err := b.db.Exec(b.ctx,
		`INSERT INTO waitlist (email_key, email, qualifier, source, product_updates, channel, joined_at)
		SELECT address, lower(address), 'curious', '', false, 'api', now() - interval '1 day' FROM unnest(ARRAY['a@old.example', 'b@old.example']) AS address`); err != nil {
		t.Fatal(err)
	}
	// Two joined at the same instant, and a page ends between them.
	for before, want := range map[string]string{
		"": "Cem@buyer.example", "Cem@buyer.example": "b@old.example", "b@old.example": "a@old.example",
	} {
		t.Run(before, func(t *testing.T) {
			page := []string{"waitlist", "list", "--limit", "1"}
			if before != "" {
				page = append(page, "--before", before)
			}
			out := b.ops(t, page...)
			in := expect.In(t, "the page after %q", before)
			expect.Contains(in, strings.ToLower(out), strings.ToLower(want))
			expect.Equal(in, strings.Count(out, "@"), 2, out)
			expect.Contains(in, out, "--before ")
		})
	}
	if out := b.ops(t, "waitlist", "list", "--before", "a@old.example"); !strings.Contains(out, "none") {
		t.Errorf("after the last one stands %q", out)
	}
	b.refusesTo(t, "waitlist", "list", "--before", "nobody@old.example")
	b.refusesTo(t, "waitlist", "list", "--before", "nobody")
	if out := b.ops(t, "waitlist", "list"); !strings.Contains(out, "cem@buyer.example") ||
		!strings.Contains(out, "unconfirmed") {
		t.Errorf("the waitlist is %q", out)
	}
	if got := b.mails(t); got["feedback_answered"] != 1 || got["wish_answered"] != 1 {
		t.Errorf("mails wait: %v", got)
	}
}

func TestDeskCommand_InvitesTheConfirmedAndRemovesAddresses(t *testing.T) {
	t.Parallel()
	b := setUpDesk(t)
	if _, err := b.db.Exec(b.ctx,
		`INSERT INTO waitlist (email_key, email, qualifier, source, product_updates, channel, joined_at, confirmed_at)
		VALUES ('ann@buyer.example', 'ann@buyer.example', 'curious', '', true, 'api', now(), now()), ('bob@buyer.example', 'bob@buyer.example', 'curious', '', true, 'api', now(), NULL)`); err != nil {
		t.Fatal(err)
	}
	if said := b.refusesTo(t, "waitlist", "invite", "bob@buyer.example", "eve@buyer.example"); !strings.Contains(said,
		"bob@buyer.example is not confirmed") || !strings.Contains(said, "eve@buyer.example is not on") {
		t.Errorf("nobody of them can be invited: %q", said)
	}
	if out := b.ops(t, "waitlist", "invite", "ann@buyer.example"); out != "ann@buyer.example is invited\n" {
		t.Errorf("invited: %q", out)
	}
	if out := b.ops(t, "waitlist", "invite", "Ann@buyer.example"); !strings.Contains(out, "already") ||
		b.mails(t)["waitlist_invited"] != 1 {
		t.Errorf("invited again: %q, mails wait: %v", out, b.mails(t))
	}
	for status, want := range map[string]string{"invited": "ann@", "waiting": "bob@", "confirmed": "none"} {
		t.Run(status, func(t *testing.T) {
			if out := b.ops(t, "waitlist", "list", "--status", status); !strings.Contains(out, want) ||
				strings.Count(out, "@") > 1 {
				t.Errorf("%s are %q", status, out)
			}
		})
	}
	if out := b.ops(t, "waitlist", "remove", "ann@buyer.example"); !strings.Contains(out, "is off") {
		t.Errorf("removed: %q", out)
	}
	if out := b.ops(t, "waitlist", "remove", "ann@buyer.example"); !strings.Contains(out, "nothing changed") {
		t.Errorf("removed again: %q", out)
	}
	if out := b.ops(t, "waitlist", "list"); strings.Contains(out, "ann@") {
		t.Errorf("the list is %q", out)
	}
	b.refusesTo(t, "waitlist", "list", "--status", "left")
	b.refusesTo(t, "waitlist", "invite", "x")
	b.refusesTo(t, "waitlist", "invite")
	b.refusesTo(t, "waitlist", "remove", "x")
	b.refusesTo(t, "wishlist", "answer", uuid.NewString(), "--status", "withdrawn", "--seen", "0")
}

func TestDeskCommand_SetsWhoIsStaff(t *testing.T) {
	t.Parallel()
	b := setUpDesk(t)
	b.person(t, "dee@staff.example")
	if out := b.ops(t, "staff", "add", "Dee@staff.example"); !strings.Contains(out, "is staff") {
		t.Errorf("added: %q", out)
	}
	if out := b.ops(t, "staff", "add", "dee@staff.example"); !strings.Contains(out, "nothing changed") {
		t.Errorf("added again: %q", out)
	}
	if out := b.ops(t, "staff", "list"); !strings.Contains(out, "dee@staff.example") ||
		!strings.Contains(out, operatorName()) {
		t.Errorf("staff is %q", out)
	}
	if said := b.refusesTo(t, "staff", "add", "eve@other.example"); !strings.Contains(said, "nobody has signed in") {
		t.Errorf("somebody who never signed in: %q", said)
	}
	b.refusesTo(t, "staff", "add", "x")
	b.ops(t, "staff", "remove", "dee@staff.example")
	if out := b.ops(t, "staff", "list"); strings.Contains(out, "dee@") {
		t.Errorf("staff is %q", out)
	}
}

// Lists that end at their limit name the position to continue from, and continue there.
func TestDeskCommand_ListsContinueBelowTheirLastLine(t *testing.T) {
	t.Parallel()
	b := setUpDesk(t)
	user, of := b.person(t, "ann@buyer.example")
	older, newer := b.file(t, of, user, "first", "m").Reference(), b.file(t, of, user, "second", "m").Reference()
	out := b.ops(t, "tickets", "list", "--limit", "1")
	in := expect.In(t, "the newest ticket")
	expect.Contains(in, out, "second")
	expect.NotContains(in, out, "first")
	expect.Contains(in, out, "add --before "+newer)
	out = b.ops(t, "tickets", "list", "--limit", "2", "--before", newer)
	expect.Contains(t, out, older)
	expect.NotContains(t, out, newer)
	expect.NotContains(t, out, "add --before")
	var ids []string
	for _, title := range []string{"first", "second"} {
		f, err := b.store.SubmitFeedback(b.ctx, supportdb.Writer{Account: of, User: user, Channel: "api"},
			supportdb.Feedback{ID: supportdb.NewFeedbackID(), Kind: "other", Title: title, CreatedAt: time.Now()}, nil)
		if err != nil {
			t.Fatal(err)
		}
		wish := uuid.Must(uuid.NewV7())
		if _, err := b.db.Exec(b.ctx, `INSERT INTO wishlist (id, items, email, channel, created_at) VALUES ('`+
			wish.String()+`', '`+title+`', 'bob@buyer.example', 'api', now())`); err != nil {
			t.Fatal(err)
		}
		ids = []string{f.ID.String(), wish.String()}
	}
	for i, noun := range []string{"feedback", "wishlist"} {
		if out := b.ops(t, noun, "list", "--limit", "1"); !strings.Contains(out, "add --before "+ids[i]) {
			t.Errorf("the newest of the %s is %q", noun, out)
		}
		if out := b.ops(t, noun, "list", "--before", ids[i]); !strings.Contains(out, "first") ||
			strings.Contains(out, "second") {
			t.Errorf("before it the %s has %q", noun, out)
		}
		b.refusesTo(t, noun, "list", "--before", "x")
	}
	b.refusesTo(t, "tickets", "list", "--before", "1001")
}

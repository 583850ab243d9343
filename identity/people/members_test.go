package people_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/people"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/peopledb"
)

func newInvitationID() peopledb.InvitationID {
	return peopledb.InvitationID{UUID: uuid.Must(uuid.NewV7())}
}

// owners counts the owners of an account.
func (b *bundle) owners(t *testing.T, id account.ID) int {
	t.Helper()
	return b.number(t, "SELECT count(*) FROM members WHERE account_id = $1 AND role = 'owner'", id.UUID)
}

func TestInvitation_SignsInAndJoinsInOneStepAndOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, ann := b.signIn(t, "ann@buyer.example")
	_, token := b.invite(t, &ann, "bob@buyer.example", peopledb.RoleMember)
	for range 2 {
		shown, err := b.people.ShowInvitation(b.ctx, token, home)
		require.NoError(t, err)
		require.Equal(t, shown.Email.Address(), "bob@buyer.example")
		require.Equal(t, shown.InvitedBy, "ann@buyer.example")
		require.Equal(t, shown.Role, peopledb.RoleMember)
	}
	entries := make(chan people.Entered, 3)
	// The first is blocked after its acceptance, so that all others have seen an open invitation.
	release := b.hold(t, "users")
	accepted := make(chan int64, 1)
	go func() {
		accepted <- atOnce(t, 3, func(int) error {
			entered, err := b.people.AcceptInvitation(b.ctx, token, home)
			if err == nil {
				entries <- entered
			}
			return err
		})
	}()
	b.waiting(t, 3) // a pool has at least four connections
	release()
	if n := <-accepted; n != 1 {
		t.Fatalf("%d of 3 accepted one invitation, want 1", n)
	}
	session := b.session(t, <-entries)
	in := expect.In(t, "who accepted has the session")
	expect.Equal(in, session.Account, ann.Account)
	expect.Equal(in, session.Role, peopledb.RoleMember)
	expect.Equal(in, session.Email.Address(), "bob@buyer.example")
	_, err := b.people.ShowInvitation(b.ctx, token, home)
	refused(t, err, fault.FieldRefused)
	if n := b.number(t, "SELECT count(*) FROM accounts"); n != 1 {
		t.Errorf("%d accounts, want ann's only", n)
	}
	if told, ok := newestOf[notify.MemberJoined](b, "ann@buyer.example"); !ok || told.Member != "bob@buyer.example" {
		t.Errorf("the owner was told %+v, %v", told, ok)
	}
	if n := b.number(t, "SELECT count(*) FROM mails WHERE kind = 'member_joined'"); n != 1 {
		t.Errorf("%d mails tell of it, want 1", n)
	}
	audit, err := b.store.ListAudit(b.ctx, ann.Account, 10)
	if err != nil {
		t.Fatal(err)
	}
	actions := make([]string, len(audit))
	for i, line := range audit {
		actions[i] = line.Action + " by " + line.Actor
	}
	want := []string{
		"join_account by " + session.User.Actor(), "invite_member by " + ann.User.Actor(),
		"open_account by " + ann.User.Actor(),
	}
	if !slices.Equal(actions, want) {
		t.Errorf("the audit log holds %q, want %q", actions, want)
	}
}

// A link that is passed on, or stored somewhere, opens nothing that a user has already.
func TestInvitation_OpensNothingOfAKnownUser(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, ann := b.signIn(t, "ann@buyer.example")
	_, bob := b.signIn(t, "bob@buyer.example")
	stranger, _ := b.signIn(t, "eve@buyer.example")
	_, token := b.invite(t, &ann, "bob@buyer.example", peopledb.RoleMember)
	as := home
	as.Session = stranger.Session.Reveal()
	for _, v := range []people.Visitor{home, as} {
		_, err := b.people.AcceptInvitation(b.ctx, token, v)
		refused(t, err, fault.KeyInvalid)
	}
	if n := b.number(t, "SELECT count(*) FROM members WHERE account_id = $1", ann.Account.UUID); n != 1 {
		t.Fatalf("%d members, want ann only", n)
	}
	known, _ := b.signIn(t, "bob@buyer.example")
	as.Session = known.Session.Reveal()
	entered, err := b.people.AcceptInvitation(b.ctx, token, as)
	if err != nil {
		t.Fatal(err)
	}
	session := b.session(t, entered)
	expect.Equal(t, session.User, bob.User)
	expect.Equal(t, session.Account, ann.Account)
	expect.Equal(t, session.Role, peopledb.RoleMember)
}

func TestInvitation_Ends(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, ann := b.signIn(t, "ann@buyer.example")
	dead := func(what, token string) {
		t.Helper()
		if _, err := b.people.ShowInvitation(b.ctx, token, home); err == nil {
			t.Errorf("an invitation that was %s is shown", what)
		}
		_, err := b.people.AcceptInvitation(b.ctx, token, home)
		refused(t, err, fault.FieldRefused)
	}
	_, replaced := b.invite(t, &ann, "bob@buyer.example", peopledb.RoleOwner)
	revoked, second := b.invite(t, &ann, "BOB@buyer.example", peopledb.RoleMember)
	dead("replaced", replaced)
	open, err := b.people.ListInvitations(b.ctx, &ann)
	in := expect.In(t, "open invitations")
	require.NoError(in, err)
	require.Len(in, open, 1)
	expect.Equal(in, open[0].ID, revoked.ID)
	expect.Equal(in, open[0].Role, peopledb.RoleMember)
	if err := b.people.RevokeInvitation(b.ctx, &ann, revoked.ID.String()); err != nil {
		t.Fatal(err)
	}
	dead("taken back", second)
	refused(t, b.people.RevokeInvitation(b.ctx, &ann, revoked.ID.String()), fault.NotYours)

	late, third := b.invite(t, &ann, "bob@buyer.example", peopledb.RoleMember)
	b.clock.Advance(people.InvitationValid)
	dead("a week old", third)
	refused(t, b.people.RevokeInvitation(b.ctx, &ann, late.ID.String()), fault.NotYours)
	dead("cut off", third[:20])
	if n := b.number(t, "SELECT count(*) FROM users"); n != 1 {
		t.Errorf("%d users, want ann only", n)
	}
}

func TestMembers_AreManagedByOwnersOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, ann := b.signIn(t, "ann@buyer.example")
	_, bob := b.join(t, &ann, "bob@buyer.example", peopledb.RoleMember)
	open, _ := b.invite(t, &ann, "eve@buyer.example", peopledb.RoleMember)
	// The transaction checks, so that a former owner changes nothing.
	stale := bob
	stale.Role = peopledb.RoleOwner
	for name, as := range map[string]peopledb.Session{"a member": bob, "a former owner": stale} {
		_, err := b.people.Invite(b.ctx, &as, "friend@buyer.example", "owner")
		for what, err := range map[string]error{
			"invite": err, "revoke": b.people.RevokeInvitation(b.ctx, &as, open.ID.String()),
			"promote": b.people.SetRole(b.ctx, &as, bob.User.String(), "owner"),
			"demote":  b.people.SetRole(b.ctx, &as, ann.User.String(), "member"),
			"remove":  b.people.RemoveMember(b.ctx, &as, ann.User.String()),
		} {
			t.Run(what, func(t *testing.T) {
				if refusal := refused(t, err,
					fault.WrongKindOfKey); refusal.Message == fault.WrongKindOfKey.Entry().Meaning {
					t.Errorf("%s who wants to %s is told of keys", name, what)
				}
			})
		}
	}
	if n := b.number(t,
		"SELECT 10 * count(*) + (SELECT count(*) FROM invitations WHERE revoked_at IS NULL AND accepted_at IS NULL) "+
			"FROM members"); n != 21 {
		t.Errorf("members and invitations are %d, want 2 and 1 (21)", n)
	}
}

func TestMembers_IDsOfAnotherAccountAreNotFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, ann := b.signIn(t, "ann@buyer.example")
	_, bob := b.join(t, &ann, "bob@buyer.example", peopledb.RoleMember)
	invitation, _ := b.invite(t, &ann, "next@buyer.example", peopledb.RoleMember)
	_, eve := b.signIn(t, "eve@other.example")
	for _, id := range []string{invitation.ID.String(), bob.User.String(), "", "x", uuid.Nil.String()} {
		refused(t, b.people.RevokeInvitation(b.ctx, &eve, id), fault.NotYours)
		refused(t, b.people.SetRole(b.ctx, &eve, id, "owner"), fault.NotYours)
		refused(t, b.people.RemoveMember(b.ctx, &eve, id), fault.NotYours)
		refused(t, b.people.EndSession(b.ctx, &eve, bob.ID.String()), fault.NotYours)
	}
	all, err := b.people.ListMembers(b.ctx, &eve)
	in := expect.In(t, "eve sees the members")
	require.NoError(in, err)
	require.Len(in, all, 1)
	expect.Equal(in, all[0].User, eve.User)
	if all, err := b.people.ListInvitations(b.ctx, &eve); err != nil || len(all) != 0 {
		t.Errorf("eve sees the invitations %+v, %v", all, err)
	}
	all, err = b.people.ListMembers(b.ctx, &ann)
	in = expect.In(t, "ann's members")
	require.NoError(in, err)
	require.Len(in, all, 2)
	expect.Equal(in, all[1].User, bob.User)
	expect.Equal(in, all[1].Role, peopledb.RoleMember)
}

func TestOwners_AccountKeepsOneHoweverTheyLeave(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(b *bundle, me, other *peopledb.Session) error{
		"each leaves": func(b *bundle, me, _ *peopledb.Session) error {
			return b.people.RemoveMember(b.ctx, me, me.User.String())
		},
		"each removes another": func(b *bundle, me, other *peopledb.Session) error {
			return b.people.RemoveMember(b.ctx, me, other.User.String())
		},
		"each becomes member": func(b *bundle, me, _ *peopledb.Session) error {
			return b.people.SetRole(b.ctx, me, me.User.String(), "member")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			_, ann := b.signIn(t, "ann@buyer.example")
			_, bob := b.join(t, &ann, "bob@buyer.example", peopledb.RoleOwner)
			both := []*peopledb.Session{&ann, &bob}
			// Both are blocked where they would change something, so that neither is done before
			// the other began.
			release := b.hold(t, "invitations")
			went := make(chan int64, 1)
			go func() {
				went <- atOnce(t, 2, func(i int) error { return leave(b, both[i], both[1-i]) }, fault.FieldRefused,
					fault.WrongKindOfKey)
			}()
			b.waiting(t, 2)
			release()
			if n := <-went; n != 1 {
				t.Errorf("%d of 2 went, want 1", n)
			}
			if n := b.owners(t, ann.Account); n != 1 {
				t.Errorf("%d owners are left, want 1", n)
			}
		})
	}
}

func TestOwners_TheLastOneStays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	entered, ann := b.signIn(t, "ann@buyer.example")
	b.join(t, &ann, "carol@buyer.example", peopledb.RoleMember)
	refused(t, b.people.RemoveMember(b.ctx, &ann, ann.User.String()), fault.FieldRefused)
	refused(t, b.people.SetRole(b.ctx, &ann, ann.User.String(), "member"), fault.FieldRefused)
	if now := b.session(t, entered); now.Role != peopledb.RoleOwner {
		t.Errorf("the last owner is %s now", now.Role)
	}
	for _, role := range []string{"", "admin", "Owner", "owner\x00"} {
		refused(t, b.people.SetRole(b.ctx, &ann, ann.User.String(), role), fault.FieldRefused)
	}
}

func TestMembers_RemovedOneIsOutAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, ann := b.signIn(t, "ann@buyer.example")
	own, _ := b.signIn(t, "bob@buyer.example")
	here, bob := b.join(t, &ann, "bob@buyer.example", peopledb.RoleOwner)
	_, friend := b.invite(t, &bob, "friend@buyer.example", peopledb.RoleOwner)
	_, kept := b.invite(t, &ann, "kept@buyer.example", peopledb.RoleMember)
	if err := b.people.RemoveMember(b.ctx, &ann, bob.User.String()); err != nil {
		t.Fatal(err)
	}
	_, err := b.people.FindSession(b.ctx, here.Session.Reveal())
	refused(t, err, fault.KeyInvalid)
	if session := b.session(t, own); session.Account == ann.Account {
		t.Errorf("bob's session of his own account is %+v", session)
	}
	// Joining again does not restore the session.
	b.clock.Advance(time.Second)
	_, back := b.join(t, &ann, "bob@buyer.example", peopledb.RoleOwner)
	_, err = b.people.FindSession(b.ctx, here.Session.Reveal())
	refused(t, err, fault.KeyInvalid)
	if err := b.people.RemoveMember(b.ctx, &ann, back.User.String()); err != nil {
		t.Fatal(err)
	}
	// A person whom a removed member invited cannot join.
	_, err = b.people.AcceptInvitation(b.ctx, friend, home)
	refused(t, err, fault.FieldRefused)
	if _, err := b.people.AcceptInvitation(b.ctx, kept, home); err != nil {
		t.Errorf("the invitation of the owner who stays gives %v", err)
	}
	if _, again := b.signIn(t, "bob@buyer.example"); again.Account == ann.Account {
		t.Error("bob signs into the account that he was removed from")
	}
	refused(t, b.people.RemoveMember(b.ctx, &ann, bob.User.String()), fault.NotYours)
	audit, err := b.store.ListAudit(b.ctx, ann.Account, 3)
	if err != nil || !slices.ContainsFunc(audit, func(l accountdb.AuditLine) bool {
		return l.Action == "remove_member" && l.Actor == ann.User.Actor()
	}) {
		t.Errorf("the audit log holds %+v, %v", audit, err)
	}
}

func TestMembers_WithoutAnAccountOpenTheirOwn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, ann := b.signIn(t, "ann@buyer.example")
	_, bob := b.join(t, &ann, "bob@buyer.example", peopledb.RoleMember)
	if err := b.people.RemoveMember(b.ctx, &bob, bob.User.String()); err != nil { // leaves
		t.Fatal(err)
	}
	entered, now := b.signIn(t, "bob@buyer.example")
	in := expect.In(t, "after leaving, the sign-in")
	expect.True(in, entered.NewAccount)
	expect.Equal(in, now.User, bob.User)
	expect.Equal(in, now.Role, peopledb.RoleOwner)
}

func TestInvitation_CountIsBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, ann := b.signIn(t, "ann@buyer.example")
	_, err := b.people.Invite(b.ctx, &ann, "ann@buyer.example", "member")
	refused(t, err, fault.FieldRefused)
	_, err = b.people.Invite(b.ctx, &ann, "nobody", "member")
	refused(t, err, fault.FieldRefused)
	_, err = b.people.Invite(b.ctx, &ann, "bob@buyer.example", "boss")
	refused(t, err, fault.FieldRefused)
	for i := range peopledb.MaxInvitations - 1 { // the first attempt used one of the account's fifty
		b.invite(t, &ann, fmt.Sprintf("p%d@buyer.example", i), peopledb.RoleMember)
	}
	_, err = b.people.Invite(b.ctx, &ann, "late@buyer.example", "member")
	refused(t, err, fault.RateWindow)

	add := func(address string) error {
		email, refusal := account.ParseEmail(address)
		if refusal != nil {
			t.Fatal(refusal)
		}
		id := newInvitationID()
		return b.store.Invite(b.ctx, peopledb.NewInvitation{
			ID: id, Account: ann.Account, Email: email, Role: peopledb.RoleMember, InvitedBy: ann.User,
			Link: b.hasher.DigestOf("test", id.String()), At: b.clock.Now(),
			ExpiresAt: b.clock.Now().Add(people.InvitationValid),
		}, accountdb.Author{Actor: "test"})
	}
	if n := atOnce(t, 4, func(i int) error {
		if err := add(fmt.Sprintf("q%d@buyer.example", i)); err != nil {
			return fault.New(fault.FieldRefused, "%v", err)
		}
		return nil
	}); n != 1 {
		t.Errorf("%d of 4 found the one place left", n)
	}
	if err := add("p7@buyer.example"); err != nil {
		t.Errorf("replacing one of fifty gives %v", err)
	}
	b.clock.Advance(people.InvitationValid + time.Second)
	if err := add("late@buyer.example"); err != nil {
		t.Errorf("when the others are over, a new one gives %v", err)
	}
}

func TestInvitation_OneAddressIsNotInvitedWithoutEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, ann := b.signIn(t, "ann@buyer.example")
	_, eve := b.signIn(t, "eve@other.example")
	for i := range 5 {
		by := []*peopledb.Session{&ann, &eve}[i%2]
		b.invite(t, by, "bob@buyer.example", peopledb.RoleMember)
	}
	_, err := b.people.Invite(b.ctx, &eve, "bob@buyer.example", "member")
	refused(t, err, fault.RateWindow)
}

func TestSweep_DeletesWhatIsOverAndNothingElse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, ann := b.signIn(t, "ann@buyer.example")
	b.start(t, "bob@buyer.example")
	b.invite(t, &ann, "eve@buyer.example", peopledb.RoleMember)
	rows := func() int {
		return b.number(t,
			"SELECT 100 * (SELECT count(*) FROM sign_ins) + 10 * (SELECT count(*) FROM invitations) + (SELECT "+
				"count(*) FROM sessions)")
	}
	sweep := func(limit int) int64 {
		n, err := b.store.SweepPeople(b.ctx, b.clock.Now(), limit)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := sweep(100); n != 0 || rows() != 211 {
		t.Errorf("%d rows were swept that were not over; left %d", n, rows())
	}
	b.clock.Advance(people.SignInValid + time.Second)
	if n := sweep(1); n != 1 || rows() != 111 {
		t.Errorf("a batch of one swept %d rows; left %d", n, rows())
	}
	b.clock.Advance(people.InvitationValid)
	if n := sweep(100); n != 2 || rows() != 1 {
		t.Errorf("%d rows were swept after a week; left %d", n, rows())
	}
	b.clock.Advance(30 * 24 * time.Hour)
	if n := sweep(100); n != 1 || rows() != 0 {
		t.Errorf("%d rows were swept after a month; left %d", n, rows())
	}
}

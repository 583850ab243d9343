// Package accounts has the operations of people: sign-in, sessions, members, mail topics,
// settings and the audit log of an account.
package accounts

import (
	"time"

	"github.com/chainaccess/gateway/identity/people"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store"
)

// Dependencies are what the operations need. The caller owns them.
type Dependencies struct {
	Store  *store.Store
	People *people.People
	Now    func() time.Time
}

// Operations are the operations of this package.
type Operations struct {
	UpdateAccount      *operation.Operation[UpdateAccountInput, AccountSettings]
	NameAccount        *operation.Operation[NameAccountInput, NamedAccount]
	ListAudit          *operation.Operation[ListAuditInput, AuditLog]
	StartSignIn        *operation.Operation[StartSignInInput, StartedSignIn]
	ShowSignInLink     *operation.Operation[SignInLinkInput, ShownSignIn]
	FinishSignInByLink *operation.Operation[SignInLinkInput, Entered]
	FinishSignInByCode *operation.Operation[SignInCodeInput, Entered]
	ShowSession        *operation.Operation[operation.Nothing, CurrentSession]
	SignOut            *operation.Operation[operation.Nothing, operation.Nothing]
	SignOutEverywhere  *operation.Operation[operation.Nothing, EndedSessions]
	ListSessions       *operation.Operation[operation.Nothing, SessionList]
	EndSession         *operation.Operation[EndSessionInput, operation.Nothing]
	ShowUnsubscribe    *operation.Operation[UnsubscribeInput, StoppedMails]
	Unsubscribe        *operation.Operation[UnsubscribeInput, StoppedMails]
	ListMailTopics     *operation.Operation[operation.Nothing, MailTopics]
	ChooseMailTopics   *operation.Operation[ChooseMailTopicsInput, MailTopics]
	ListAccounts       *operation.Operation[operation.Nothing, AccountChoice]
	SwitchAccount      *operation.Operation[SwitchAccountInput, operation.Nothing]
	ListMembers        *operation.Operation[operation.Nothing, MemberList]
	InviteMember       *operation.Operation[InviteMemberInput, Invitation]
	RevokeInvitation   *operation.Operation[InvitationInput, operation.Nothing]
	ShowInvitation     *operation.Operation[InvitationLinkInput, Invitation]
	AcceptInvitation   *operation.Operation[InvitationLinkInput, Entered]
	ChangeMember       *operation.Operation[ChangeMemberInput, operation.Nothing]
	RemoveMember       *operation.Operation[RemoveMemberInput, operation.Nothing]
}

// handlers run the operations.
type handlers struct {
	Dependencies
	*operation.Runner
}

// New defines the operations.
func New(r *operation.Runner, d Dependencies) *Operations {
	h := &handlers{Dependencies: d, Runner: r}
	return &Operations{
		UpdateAccount:      h.updateAccount(),
		NameAccount:        h.nameAccount(),
		ListAudit:          h.listAudit(),
		StartSignIn:        h.startSignIn(),
		ShowSignInLink:     h.showSignInLink(),
		FinishSignInByLink: h.finishSignInByLink(),
		FinishSignInByCode: h.finishSignInByCode(),
		ShowSession:        h.showSession(),
		SignOut:            h.signOut(),
		SignOutEverywhere:  h.signOutEverywhere(),
		ListSessions:       h.listSessions(),
		EndSession:         h.endSession(),
		ShowUnsubscribe:    h.showUnsubscribe(),
		Unsubscribe:        h.unsubscribe(),
		ListMailTopics:     h.listMailTopics(),
		ChooseMailTopics:   h.chooseMailTopics(),
		ListAccounts:       h.listAccounts(),
		SwitchAccount:      h.switchAccount(),
		ListMembers:        h.listMembers(),
		InviteMember:       h.inviteMember(),
		RevokeInvitation:   h.revokeInvitation(),
		ShowInvitation:     h.showInvitation(),
		AcceptInvitation:   h.acceptInvitation(),
		ChangeMember:       h.changeMember(),
		RemoveMember:       h.removeMember(),
	}
}

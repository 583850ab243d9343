package consoletest

import (
	"context"
	"time"

	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service/accounts"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/tickets"
)

// stoppedPacks is what the link in a mail about packs stops.
var stoppedPacks = accounts.StoppedMails{Email: "mira@studio-north.example", Topic: account.TopicPacks}

// WaitingEntry is an entry of the waitlist that is not confirmed.
var WaitingEntry = tickets.ShownEntry{
	About: "waitlist", Email: "mira@studio-north.example", Status: "waiting", ProductUpdates: true,
	EnteredAt: time.Date(2026, 11, 20, 23, 30, 0, 0, time.UTC),
}

func entryOf(status string) tickets.ShownEntry {
	e := WaitingEntry
	e.Status = status
	return e
}

// peopleCalls adds the operations of people: signing in, sessions, members, mails and the waitlist.
func (h *Operations) peopleCalls(c *site.Calls) {
	entered := accounts.Entered{SessionToken: "cags_new", Email: "mira@studio-north.example", ReturnTo: "/keys"}
	c.StartSignIn = Record[accounts.StartSignInInput](h, accounts.StartedSignIn{BrowserToken: "cagb_browser"})
	c.ShowLink = func(context.Context, *operation.Caller, accounts.SignInLinkInput) (accounts.ShownSignIn,
		*fault.Error,
	) {
		return accounts.ShownSignIn{Email: "mira@studio-north.example"}, h.Link
	}
	c.FinishByLink = Record[accounts.SignInLinkInput](h, entered)
	c.FinishByCode = Record[accounts.SignInCodeInput](h, entered)
	c.ShowSession = reads[operation.Nothing](func() accounts.CurrentSession { return h.Session })
	c.SignOut = none[operation.Nothing](h)
	c.SignOutEverywhere = Record[operation.Nothing](h, accounts.EndedSessions{Ended: 2})
	c.ListSessions = reads[operation.Nothing](func() accounts.SessionList {
		return accounts.SessionList{Sessions: h.sessions}
	})
	c.EndSession = none[accounts.EndSessionInput](h)
	c.ListAccounts = reads[operation.Nothing](func() accounts.AccountChoice {
		return accounts.AccountChoice{Accounts: h.accounts}
	})
	c.SwitchAccount = none[accounts.SwitchAccountInput](h)
	c.ListMembers = reads[operation.Nothing](func() accounts.MemberList { return h.Members })
	c.InviteMember = Record[accounts.InviteMemberInput](h, accounts.Invitation{
		Email: "new@studio-north.example", Role: view.RoleMember,
	})
	c.RevokeInvitation = none[accounts.InvitationInput](h)
	c.ShowInvitation = func(context.Context, *operation.Caller,
		accounts.InvitationLinkInput,
	) (accounts.Invitation, *fault.Error) {
		return accounts.Invitation{
			Email: "kim@studio-north.example", Role: view.RoleMember, InvitedBy: "mira@studio-north.example",
			AccountName: "Studio North",
		}, h.Link
	}
	c.AcceptInvitation = Record[accounts.InvitationLinkInput](h, entered)
	c.ChangeMember = none[accounts.ChangeMemberInput](h)
	c.RemoveMember = none[accounts.RemoveMemberInput](h)
	c.ShowUnsubscribe = func(context.Context, *operation.Caller,
		accounts.UnsubscribeInput,
	) (accounts.StoppedMails, *fault.Error) {
		return stoppedPacks, nil
	}
	c.Unsubscribe = Record[accounts.UnsubscribeInput](h, stoppedPacks)
	c.ShowEntry = func(context.Context, *operation.Caller, tickets.EntryInput) (tickets.ShownEntry, *fault.Error) {
		return WaitingEntry, h.Refusal
	}
	c.ConfirmEntry = Record[tickets.ConfirmEntryInput](h, entryOf("confirmed"))
	c.LeaveEntry = Record[tickets.EntryInput](h, entryOf("left"))
	c.ListMailTopics = reads[operation.Nothing](func() accounts.MailTopics {
		return accounts.MailTopics{Topics: []account.Topic{account.TopicPacks}}
	})
	c.ChooseMailTopics = Record[accounts.ChooseMailTopicsInput](h, accounts.MailTopics{})
}

package consoletest

import (
	"context"
	"time"

	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service"
)

// stoppedPacks is what the link in a mail about packs stops.
var stoppedPacks = service.StoppedMails{Email: "mira@studio-north.example", Topic: account.TopicPacks}

// WaitingEntry is an entry of the waitlist that is not confirmed.
var WaitingEntry = service.ShownEntry{
	About: "waitlist", Email: "mira@studio-north.example", Status: "waiting", ProductUpdates: true,
	EnteredAt: time.Date(2026, 11, 20, 23, 30, 0, 0, time.UTC),
}

func entryOf(status string) service.ShownEntry {
	e := WaitingEntry
	e.Status = status
	return e
}

// peopleCalls adds the operations of people: signing in, sessions, members, mails and the waitlist.
func (h *Operations) peopleCalls(c *site.Calls) {
	entered := service.Entered{SessionToken: "cags_new", Email: "mira@studio-north.example", ReturnTo: "/keys"}
	c.StartSignIn = Record[service.StartSignInInput](h, service.StartedSignIn{BrowserToken: "cagb_browser"})
	c.ShowLink = func(context.Context, *service.Caller, service.SignInLinkInput) (service.ShownSignIn, *fault.Error) {
		return service.ShownSignIn{Email: "mira@studio-north.example"}, h.Link
	}
	c.FinishByLink = Record[service.SignInLinkInput](h, entered)
	c.FinishByCode = Record[service.SignInCodeInput](h, entered)
	c.ShowSession = reads[service.Nothing](func() service.CurrentSession { return h.Session })
	c.SignOut = none[service.Nothing](h)
	c.SignOutEverywhere = Record[service.Nothing](h, service.EndedSessions{Ended: 2})
	c.ListSessions = reads[service.Nothing](func() service.SessionList {
		return service.SessionList{Sessions: h.sessions}
	})
	c.EndSession = none[service.EndSessionInput](h)
	c.ListAccounts = reads[service.Nothing](func() service.AccountChoice {
		return service.AccountChoice{Accounts: h.accounts}
	})
	c.SwitchAccount = none[service.SwitchAccountInput](h)
	c.ListMembers = reads[service.Nothing](func() service.MemberList { return h.Members })
	c.InviteMember = Record[service.InviteMemberInput](h, service.Invitation{
		Email: "new@studio-north.example", Role: view.RoleMember,
	})
	c.RevokeInvitation = none[service.InvitationInput](h)
	c.ShowInvitation = func(context.Context, *service.Caller,
		service.InvitationLinkInput,
	) (service.Invitation, *fault.Error) {
		return service.Invitation{
			Email: "kim@studio-north.example", Role: view.RoleMember, InvitedBy: "mira@studio-north.example",
			AccountName: "Studio North",
		}, h.Link
	}
	c.AcceptInvitation = Record[service.InvitationLinkInput](h, entered)
	c.ChangeMember = none[service.ChangeMemberInput](h)
	c.RemoveMember = none[service.RemoveMemberInput](h)
	c.ShowUnsubscribe = func(context.Context, *service.Caller,
		service.UnsubscribeInput,
	) (service.StoppedMails, *fault.Error) {
		return stoppedPacks, nil
	}
	c.Unsubscribe = Record[service.UnsubscribeInput](h, stoppedPacks)
	c.ShowEntry = func(context.Context, *service.Caller, service.EntryInput) (service.ShownEntry, *fault.Error) {
		return WaitingEntry, h.Refusal
	}
	c.ConfirmEntry = Record[service.ConfirmEntryInput](h, entryOf("confirmed"))
	c.LeaveEntry = Record[service.EntryInput](h, entryOf("left"))
	c.ListMailTopics = reads[service.Nothing](func() service.MailTopics {
		return service.MailTopics{Topics: []account.Topic{account.TopicPacks}}
	})
	c.ChooseMailTopics = Record[service.ChooseMailTopicsInput](h, service.MailTopics{})
}

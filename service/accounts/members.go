package accounts

import (
	"context"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/netlimit"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store/peopledb"
)

// Members of an account. These operations have no route: pages call them in process.

// AccountChoice lists the accounts of the user.
type AccountChoice struct {
	Accounts []Membership `json:"accounts"`
}

// Membership is one account of the user.
type Membership struct {
	AccountID string `json:"account_id" format:"uuid"`
	Name      string `json:"name" doc:"what the account is called; may be empty"`
	Role      string `json:"role" enum:"owner,member"`
	Current   bool   `json:"current"`
}

// SwitchAccountInput identifies an account.
type SwitchAccountInput struct {
	AccountID string `json:"account_id" maxLength:"64" doc:"an account of yours, as list_accounts gives it"`
}

// MemberList lists the members of the account and its open invitations.
type MemberList struct {
	Members     []Member     `json:"members"`
	Invitations []Invitation `json:"invitations" doc:"those that are open"`
}

// Member is a user of the account.
type Member struct {
	UserID       string     `json:"user_id" format:"uuid"`
	Email        string     `json:"email"`
	Role         string     `json:"role" enum:"owner,member"`
	Current      bool       `json:"current" doc:"who asks"`
	JoinedAt     time.Time  `json:"joined_at"`
	LastSignedIn *time.Time `json:"last_signed_in" nullable:"true" doc:"null when never"`
}

// Invitation invites somebody to join an account.
type Invitation struct {
	ID          string    `json:"id" format:"uuid"`
	Email       string    `json:"email"`
	Role        string    `json:"role" enum:"owner,member"`
	InvitedBy   string    `json:"invited_by" doc:"an e-mail address"`
	AccountName string    `json:"account_name,omitempty"`
	InvitedAt   time.Time `json:"invited_at"`
	ExpiresAt   time.Time `json:"expires_at"`
}

// InviteMemberInput is whom to invite, and in which role.
type InviteMemberInput struct {
	Email string `json:"email" minLength:"1" maxLength:"1016" doc:"one e-mail address"`
	Role  string `json:"role" enum:"owner,member" doc:"owner manages members, member does not"`
}

// InvitationInput identifies an invitation.
type InvitationInput struct {
	ID string `json:"id" maxLength:"64" doc:"an open invitation of the account, as list_members gives it"`
}

// InvitationLinkInput is the link of an invitation.
type InvitationLinkInput struct {
	Token string `json:"token" maxLength:"256" doc:"the token of the link, all of it"`
}

// ChangeMemberInput changes the role of a member.
type ChangeMemberInput struct {
	UserID string `json:"user_id" maxLength:"64" doc:"a member of the account, as list_members gives it"`
	Role   string `json:"role" enum:"owner,member" doc:"owner manages members, member does not"`
}

// RemoveMemberInput identifies a member.
type RemoveMemberInput struct {
	UserID string `json:"user_id" maxLength:"64" doc:"a member of the account, as list_members gives it; your own to leave"`
}

// changeFails are the reasons with which changes of members fail.
var changeFails = []fault.Reason{fault.NotYours, fault.WrongKindOfKey, fault.DurableUnavailable}

func (h *handlers) listAccounts() *operation.Operation[operation.Nothing, AccountChoice] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "list_accounts", Title: "List the user's accounts", Access: operation.Users, Reads: true,
		Fails: []fault.Reason{fault.DurableUnavailable}, Description: "Lists the accounts that the user belongs to.",
	}, func(ctx context.Context, c *operation.Call, _ operation.Nothing) (AccountChoice, error) {
		all, err := h.People.ListAccounts(ctx, &c.User.Session)
		choice := AccountChoice{Accounts: make([]Membership, len(all))}
		for i, m := range all {
			choice.Accounts[i] = Membership{m.Account.String(), m.Name, string(m.Role), m.Account == c.Account.ID}
		}
		return choice, err
	})
}

func (h *handlers) switchAccount() *operation.Operation[SwitchAccountInput, operation.Nothing] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "switch_account", Title: "Switch to another account", Access: operation.Users, OfUser: true,
		Fails:       []fault.Reason{fault.NotYours, fault.DurableUnavailable},
		Description: "Moves this session to another account of the user.",
	}, func(ctx context.Context, c *operation.Call, in SwitchAccountInput) (operation.Nothing, error) {
		return operation.Nothing{}, h.People.SwitchAccount(ctx, &c.User.Session, in.AccountID)
	})
}

func (h *handlers) listMembers() *operation.Operation[operation.Nothing, MemberList] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "list_members", Title: "List members", Access: operation.Users, Reads: true, Fails: []fault.Reason{
			fault.DurableUnavailable,
		},
		Description: "Lists who belongs to the account, at most 100, and the open invitations, at most 50.",
	}, h.runListMembers)
}

func (h *handlers) runListMembers(ctx context.Context, c *operation.Call, _ operation.Nothing) (MemberList, error) {
	members, err := h.People.ListMembers(ctx, &c.User.Session)
	if err != nil {
		return MemberList{}, err
	}
	invitations, err := h.People.ListInvitations(ctx, &c.User.Session)
	if err != nil {
		return MemberList{}, err
	}
	list := MemberList{Members: make([]Member, len(members)), Invitations: make([]Invitation, len(invitations))}
	for i := range members {
		m := &members[i]
		list.Members[i] = Member{
			UserID: m.User.String(), Email: m.Email.Address(), Role: string(m.Role), Current: m.User == c.User.User,
			JoinedAt: m.JoinedAt,
		}
		if !m.LastSignedIn.IsZero() {
			list.Members[i].LastSignedIn = &m.LastSignedIn
		}
	}
	for i := range invitations {
		list.Invitations[i] = invitationOf(&invitations[i])
	}
	return list, nil
}

func invitationOf(i *peopledb.Invitation) Invitation {
	return Invitation{
		ID: i.ID.String(), Email: i.Email.Address(), Role: string(i.Role), InvitedBy: i.InvitedBy,
		AccountName: i.AccountName, InvitedAt: i.InvitedAt, ExpiresAt: i.ExpiresAt,
	}
}

func (h *handlers) inviteMember() *operation.Operation[InviteMemberInput, Invitation] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "invite_member", Title: "Invite somebody", Access: operation.Owners, Fails: changeFails,
		Description: "Sends an invitation to the account, which is open for 7 days. Inviting the same address again " +
			"replaces it.",
	}, func(ctx context.Context, c *operation.Call, in InviteMemberInput) (Invitation, error) {
		if refusal := h.LimitStranger(ctx, c, netlimit.Invitations); refusal != nil {
			return Invitation{}, refusal
		}
		made, err := h.People.Invite(ctx, &c.User.Session, in.Email, in.Role)
		if err != nil {
			return Invitation{}, err
		}
		return invitationOf(&made), nil
	})
}

func (h *handlers) revokeInvitation() *operation.Operation[InvitationInput, operation.Nothing] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "revoke_invitation", Title: "Take an invitation back", Access: operation.Owners, Fails: changeFails,
		Description: "Takes an open invitation back: its link is dead from then on. A repeat is not found.",
	}, func(ctx context.Context, c *operation.Call, in InvitationInput) (operation.Nothing, error) {
		return operation.Nothing{}, h.People.RevokeInvitation(ctx, &c.User.Session, in.ID)
	})
}

func (h *handlers) showInvitation() *operation.Operation[InvitationLinkInput, Invitation] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "show_invitation", Title: "Look at an invitation", Access: operation.Everybody, Reads: true,
		Fails:       signInFails,
		Description: "Says who invites whom to what, and uses nothing up.",
	}, func(ctx context.Context, c *operation.Call, in InvitationLinkInput) (Invitation, error) {
		shown, err := h.People.ShowInvitation(ctx, in.Token, visitorOf(c))
		if err != nil {
			return Invitation{}, err
		}
		return invitationOf(&shown), nil
	})
}

func (h *handlers) acceptInvitation() *operation.Operation[InvitationLinkInput, Entered] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "accept_invitation", Title: "Accept an invitation", Access: operation.Everybody, Fails: signInFails,
		Description: "Makes whoever was invited a member, once, and signs in somebody new with it. Who has signed in " +
			"before does so first. A repeat is refused.",
	}, func(ctx context.Context, c *operation.Call, in InvitationLinkInput) (Entered, error) {
		return entered(h.People.AcceptInvitation(ctx, in.Token, visitorOf(c)))
	})
}

func (h *handlers) changeMember() *operation.Operation[ChangeMemberInput, operation.Nothing] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "change_member", Title: "Change a member's role", Access: operation.Owners, Fails: changeFails,
		Description: "Makes a member an owner, or an owner a member. The last owner stays one. A repeat changes " +
			"nothing more.",
	}, func(ctx context.Context, c *operation.Call, in ChangeMemberInput) (operation.Nothing, error) {
		return operation.Nothing{}, h.People.SetRole(ctx, &c.User.Session, in.UserID, in.Role)
	})
}

func (h *handlers) removeMember() *operation.Operation[RemoveMemberInput, operation.Nothing] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "remove_member", Title: "Remove a member, or leave", Access: operation.Users, Fails: changeFails,
		Description: "Takes a member out of the account; their sessions of it end at once. Owners remove anybody, " +
			"members themselves; the last owner stays.",
	}, func(ctx context.Context, c *operation.Call, in RemoveMemberInput) (operation.Nothing, error) {
		return operation.Nothing{}, h.People.RemoveMember(ctx, &c.User.Session, in.UserID)
	})
}

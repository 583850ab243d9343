package settings

import (
	"net/http"
	"strings"

	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/service/accounts"
	"github.com/chainaccess/gateway/service/operation"
)

func describePeople(v *site.Request, p *settingsPage, people *accounts.MemberList) {
	owners := 0
	for i := range people.Members {
		if people.Members[i].Role == view.RoleOwner {
			owners++
		}
	}
	for i := range people.Members {
		m := &people.Members[i]
		row := memberRow{
			ID: m.UserID, Email: m.Email, Role: m.Role, Since: v.Reader.Moment(m.JoinedAt), Self: m.Current,
			Removable: m.Current || v.Owner(),
		}
		if m.Role == view.RoleOwner && owners == 1 {
			row.Removable = false // an account must keep an owner
		}
		if v.Owner() && !m.Current {
			row.Become = view.RoleOwner
			if m.Role == view.RoleOwner {
				row.Become = view.RoleMember
			}
		}
		p.Members = append(p.Members, row)
	}
	for i := range people.Invitations {
		n := &people.Invitations[i]
		p.Invitations = append(p.Invitations, invitationRow{
			ID: n.ID, Email: n.Email, Role: n.Role, Expires: v.Reader.Moment(n.ExpiresAt),
		})
	}
}

func inviteField(value, wrong string) view.Field {
	return view.Field{
		Name: "email", Label: "E-mail address", Type: "email", Required: true, Most: 254, Prefix: "invite-",
		Value: value, Error: wrong, Rule: "The invitation is open for 7 days.",
	}
}

func roleSelection(chosen string) view.Selection {
	return view.Selection{
		Name: "role", Label: "Role",
		Rule: "Owners manage people and billing and adopt keys. Members can do everything else.",
		Options: []view.Option{
			{Value: view.RoleMember, Text: "Member", Chosen: chosen == view.RoleMember},
			{Value: view.RoleOwner, Text: "Owner", Chosen: chosen == view.RoleOwner},
		},
	}
}

// invite invites somebody to the account.
func invite(v *site.Request) error {
	email, role := v.R.PostForm.Get("email"), v.R.PostForm.Get("role")
	made, err := site.Ask(v, v.Calls.InviteMember, accounts.InviteMemberInput{Email: email, Role: role})
	if wrong := site.MistakesOf(err, "email"); wrong != nil {
		return settingsAgain(v, wrong, func(p *settingsPage) {
			p.Invite, p.InviteRole = inviteField(email, wrong["email"]), roleSelection(role)
		})
	}
	if err != nil {
		return err
	}
	v.FlashAt("people", view.Good, "Invitation sent", "To "+made.Email+", as "+view.RoleWords[made.Role]+".")
	return v.Redirect(paths.Settings + "#people")
}

// peopleOf lists the members and the invitations of the account.
func peopleOf(v *site.Request) (*settingsPage, error) {
	list, err := site.Ask(v, v.Calls.ListMembers, operation.Nothing{})
	if err != nil {
		return nil, err
	}
	p := &settingsPage{}
	describePeople(v, p, &list)
	return p, nil
}

var settingsCrumb = []view.Link{{Text: "Settings", To: paths.Settings}}

// missing returns the refusal for an id that names nothing here.
func missing(what string) error {
	return &site.PageError{
		Status: http.StatusNotFound, Heading: "There is no such " + what,
		Text: "It may have ended already. The settings show the current list.",
	}
}

// confirmRemove asks for confirmation before a member is removed.
func confirmRemove(v *site.Request) error {
	p, err := peopleOf(v)
	if err != nil {
		return err
	}
	for _, m := range p.Members {
		if m.ID != v.R.PathValue("id") {
			continue
		}
		c := view.ConfirmPage{
			Heading: "Remove this member?", Subject: m.Email, Section: view.SectionSettings, CrumbsTo: settingsCrumb,
			Stops: []string{
				"Their sessions of this account, at once.", "Their access to its keys, usage and settings.",
			},
			Stays:  []string{"Keys that they made keep working. Revoke those that you do not trust."},
			Action: "/settings/members/" + m.ID + "/remove", Button: "Remove member",
			Keep: view.Link{Text: "Keep them", To: paths.Settings + "#people"},
		}
		if m.Self {
			c.Heading, c.Button, c.Keep.Text = "Leave this account?", "Leave account", "Stay"
			c.Stops = []string{
				"Your sessions of this account, this one too.", "Your access to its keys, usage and settings.",
			}
		}
		return v.Show(http.StatusOK, c)
	}
	return missing("member")
}

// removeMember removes a member from the account.
func removeMember(v *site.Request) error {
	user := v.R.PathValue("id")
	if _, err := site.Ask(v, v.Calls.RemoveMember, accounts.RemoveMemberInput{UserID: user}); err != nil {
		return refusedOn(v, "people", err)
	}
	if user == v.Session.UserID {
		v.DropCookie(site.SessionCookie)
		return v.Redirect("/")
	}
	v.FlashAt("people", view.Good, "Member removed", "Their sessions of this account have ended.")
	return v.Redirect(paths.Settings + "#people")
}

// refusedOn shows on the settings page that a rule forbids a change.
func refusedOn(v *site.Request, part string, err error) error {
	wrong := site.MistakesOf(err)
	if wrong == nil {
		return err
	}
	v.FlashAt(part, view.Bad, "Nothing was changed", wrong[""])
	return v.Redirect(paths.Settings + "#" + part)
}

// changeRole makes a member an owner, or an owner a member.
func changeRole(v *site.Request) error {
	role := v.R.PostForm.Get("role")
	if _, err := site.Ask(v, v.Calls.ChangeMember, accounts.ChangeMemberInput{
		UserID: v.R.PathValue("id"), Role: role,
	}); err != nil {
		return refusedOn(v, "people", err)
	}
	v.FlashAt("people", view.Good, "Role changed", "")
	return v.Redirect(paths.Settings + "#people")
}

// confirmWithdraw asks for confirmation before an invitation is withdrawn.
func confirmWithdraw(v *site.Request) error {
	p, err := peopleOf(v)
	if err != nil {
		return err
	}
	for _, n := range p.Invitations {
		if n.ID == v.R.PathValue("id") {
			return v.Show(http.StatusOK, view.ConfirmPage{
				Heading: "Withdraw this invitation?", Subject: n.Email, Section: view.SectionSettings,
				CrumbsTo: settingsCrumb, Stops: []string{"The link in their mail, at once."},
				Action: "/settings/invitations/" + n.ID + "/withdraw", Button: "Withdraw invitation",
				Keep: view.Link{Text: "Keep it", To: paths.Settings + "#people"},
			})
		}
	}
	return missing("invitation")
}

// withdraw withdraws an invitation.
func withdraw(v *site.Request) error {
	if _, err := site.Ask(v, v.Calls.RevokeInvitation, accounts.InvitationInput{ID: v.R.PathValue("id")}); err != nil {
		return err
	}
	v.FlashAt("people", view.Good, "Invitation withdrawn", "")
	return v.Redirect(paths.Settings + "#people")
}

func sessionRowOf(v *site.Request, s *accounts.ListedSession) sessionRow {
	return sessionRow{
		ID: s.ID, Where: browserTitle(s.UserAgent, s.Network), Since: v.Reader.Moment(s.BeganAt),
		Last: v.Reader.Moment(s.SeenAt), Current: s.Current,
	}
}

// Parts of User-Agent headers that identify browsers and systems. The order matters, because most
// headers also name other browsers.
var (
	browserMarks = [][2]string{
		{"Edg/", "Edge"},
		{"OPR/", "Opera"},
		{"Firefox/", "Firefox"},
		{"Chrome/", "Chrome"},
		{"Safari/", "Safari"},
		{"curl/", "curl"},
	}
	systemMarks = [][2]string{
		{"Android", "Android"},
		{"iPhone", "iPhone"},
		{"iPad", "iPad"},
		{"Windows", "Windows"},
		{"Mac OS X", "macOS"},
		{"Linux", "Linux"},
	}
)

// browserTitle describes the browser of a session, as far as it is known.
func browserTitle(userAgent, network string) string {
	name := marked(userAgent, browserMarks)
	if name == "" {
		name = "A program"
	}
	if system := marked(userAgent, systemMarks); system != "" {
		name += " on " + system
	}
	if network == "" {
		return name
	}
	return name + ", " + network
}

func marked(text string, marks [][2]string) string {
	for _, m := range marks {
		if strings.Contains(text, m[0]) {
			return m[1]
		}
	}
	return ""
}

// confirmEnd asks for confirmation before a session ends.
func confirmEnd(v *site.Request) error {
	list, err := site.Ask(v, v.Calls.ListSessions, operation.Nothing{})
	if err != nil {
		return err
	}
	for i := range list.Sessions {
		if s := &list.Sessions[i]; s.ID == v.R.PathValue("id") {
			return v.Show(http.StatusOK, view.ConfirmPage{
				Heading: "End this session?", Subject: browserTitle(s.UserAgent, s.Network),
				Section:  view.SectionSettings,
				CrumbsTo: settingsCrumb, Stops: []string{
					"That browser is signed out at once. It may sign in again by mail.",
				},
				Stays:  []string{"Keys and programs are not affected."},
				Action: "/settings/sessions/" + s.ID + "/end", Button: "End session",
				Keep: view.Link{Text: "Keep it", To: paths.Settings + "#sessions"},
			})
		}
	}
	return missing("session")
}

// endSession ends one session.
func endSession(v *site.Request) error {
	if _, err := site.Ask(v, v.Calls.EndSession, accounts.EndSessionInput{ID: v.R.PathValue("id")}); err != nil {
		return err
	}
	v.FlashAt("sessions", view.Good, "Session ended", "")
	return v.Redirect(paths.Settings + "#sessions")
}

// confirmSignOutEverywhere asks for confirmation before all sessions end.
func confirmSignOutEverywhere(v *site.Request) error {
	return v.Show(http.StatusOK, view.ConfirmPage{
		Heading: "Sign out everywhere?", Subject: v.Session.Email, Section: view.SectionSettings,
		CrumbsTo: settingsCrumb,
		Stops:    []string{"Every session of yours, in all accounts and browsers, this one too."},
		Stays:    []string{"Keys and programs are not affected."},
		Action:   "/settings/sessions/end", Button: "Sign out everywhere", Keep: view.Link{
			Text: "Stay signed in", To: paths.Settings + "#sessions",
		},
	})
}

// signOutEverywhere ends all sessions of the user.
func signOutEverywhere(v *site.Request) error {
	if _, err := site.Ask(v, v.Calls.SignOutEverywhere, operation.Nothing{}); err != nil {
		return err
	}
	v.DropCookie(site.SessionCookie)
	return v.Redirect(paths.SignIn)
}

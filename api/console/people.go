package console

import (
	"net/http"
	"strings"

	"github.com/chainaccess/gateway/service"
)

// Roles of users in an account.
const (
	roleOwner  = "owner"
	roleMember = "member"
)

var roleWords = map[string]string{roleOwner: "an owner", roleMember: "a member"}

// owner reports whether the person who signed in owns the account.
func (v *request) owner() bool { return v.session.Role == roleOwner }

func (v *request) describePeople(p *settingsPage, people *service.MemberList) {
	owners := 0
	for i := range people.Members {
		if people.Members[i].Role == roleOwner {
			owners++
		}
	}
	for i := range people.Members {
		m := &people.Members[i]
		row := memberRow{
			ID: m.UserID, Email: m.Email, Role: m.Role, Since: v.reader.moment(m.JoinedAt), Self: m.Current,
			Removable: m.Current || v.owner(),
		}
		if m.Role == roleOwner && owners == 1 {
			row.Removable = false // an account must keep an owner
		}
		if v.owner() && !m.Current {
			row.Become = roleOwner
			if m.Role == roleOwner {
				row.Become = roleMember
			}
		}
		p.Members = append(p.Members, row)
	}
	for i := range people.Invitations {
		n := &people.Invitations[i]
		p.Invitations = append(p.Invitations, invitationRow{
			ID: n.ID, Email: n.Email, Role: n.Role, Expires: v.reader.moment(n.ExpiresAt),
		})
	}
}

func inviteField(value, wrong string) field {
	return field{
		Name: "email", Label: "E-mail address", Type: "email", Required: true, Most: 254, Prefix: "invite-",
		Value: value, Error: wrong, Rule: "The invitation is open for 7 days.",
	}
}

func roleSelection(chosen string) selection {
	return selection{
		Name: "role", Label: "Role",
		Rule: "Owners manage people and billing and adopt keys. Members can do everything else.",
		Options: []option{
			{roleMember, "Member", chosen == roleMember},
			{roleOwner, "Owner", chosen == roleOwner},
		},
	}
}

// invite invites somebody to the account.
func (v *request) invite() error {
	email, role := v.r.PostForm.Get("email"), v.r.PostForm.Get("role")
	made, err := ask(v, v.Calls.InviteMember, service.InviteMemberInput{Email: email, Role: role})
	if wrong := mistakesOf(err, "email"); wrong != nil {
		return v.settingsAgain(wrong, func(p *settingsPage) {
			p.Invite, p.InviteRole = inviteField(email, wrong["email"]), roleSelection(role)
		})
	}
	if err != nil {
		return err
	}
	v.flashAt("people", good, "Invitation sent", "To "+made.Email+", as "+roleWords[made.Role]+".")
	return v.redirect(pathSettings + "#people")
}

// people lists the members and the invitations of the account.
func (v *request) people() (*settingsPage, error) {
	list, err := ask(v, v.Calls.ListMembers, service.Nothing{})
	if err != nil {
		return nil, err
	}
	p := &settingsPage{}
	v.describePeople(p, &list)
	return p, nil
}

var settingsCrumb = []link{{"Settings", pathSettings}}

// missing returns the refusal for an id that names nothing here.
func missing(what string) error {
	return &refusal{
		status: http.StatusNotFound, heading: "There is no such " + what,
		text: "It may have ended already. The settings show the current list.",
	}
}

// confirmRemove asks for confirmation before a member is removed.
func (v *request) confirmRemove() error {
	p, err := v.people()
	if err != nil {
		return err
	}
	for _, m := range p.Members {
		if m.ID != v.r.PathValue("id") {
			continue
		}
		c := confirmPage{
			Heading: "Remove this member?", Subject: m.Email, Section: sectionSettings, CrumbsTo: settingsCrumb,
			Stops: []string{
				"Their sessions of this account, at once.", "Their access to its keys, usage and settings.",
			},
			Stays:  []string{"Keys that they made keep working. Revoke those that you do not trust."},
			Action: "/settings/members/" + m.ID + "/remove", Button: "Remove member",
			Keep: link{"Keep them", pathSettings + "#people"},
		}
		if m.Self {
			c.Heading, c.Button, c.Keep.Text = "Leave this account?", "Leave account", "Stay"
			c.Stops = []string{
				"Your sessions of this account, this one too.", "Your access to its keys, usage and settings.",
			}
		}
		return v.show(http.StatusOK, c)
	}
	return missing("member")
}

// removeMember removes a member from the account.
func (v *request) removeMember() error {
	user := v.r.PathValue("id")
	if _, err := ask(v, v.Calls.RemoveMember, service.RemoveMemberInput{UserID: user}); err != nil {
		return v.refusedOn("people", err)
	}
	if user == v.session.UserID {
		v.jar.drop(v.w, sessionCookie)
		return v.redirect("/")
	}
	v.flashAt("people", good, "Member removed", "Their sessions of this account have ended.")
	return v.redirect(pathSettings + "#people")
}

// refusedOn shows on the settings page that a rule forbids a change.
func (v *request) refusedOn(part string, err error) error {
	wrong := mistakesOf(err)
	if wrong == nil {
		return err
	}
	v.flashAt(part, bad, "Nothing was changed", wrong[""])
	return v.redirect(pathSettings + "#" + part)
}

// changeRole makes a member an owner, or an owner a member.
func (v *request) changeRole() error {
	role := v.r.PostForm.Get("role")
	if _, err := ask(v, v.Calls.ChangeMember, service.ChangeMemberInput{
		UserID: v.r.PathValue("id"), Role: role,
	}); err != nil {
		return v.refusedOn("people", err)
	}
	v.flashAt("people", good, "Role changed", "")
	return v.redirect(pathSettings + "#people")
}

// confirmWithdraw asks for confirmation before an invitation is withdrawn.
func (v *request) confirmWithdraw() error {
	p, err := v.people()
	if err != nil {
		return err
	}
	for _, n := range p.Invitations {
		if n.ID == v.r.PathValue("id") {
			return v.show(http.StatusOK, confirmPage{
				Heading: "Withdraw this invitation?", Subject: n.Email, Section: sectionSettings,
				CrumbsTo: settingsCrumb, Stops: []string{"The link in their mail, at once."},
				Action: "/settings/invitations/" + n.ID + "/withdraw", Button: "Withdraw invitation",
				Keep: link{"Keep it", pathSettings + "#people"},
			})
		}
	}
	return missing("invitation")
}

// withdraw withdraws an invitation.
func (v *request) withdraw() error {
	if _, err := ask(v, v.Calls.RevokeInvitation, service.InvitationInput{ID: v.r.PathValue("id")}); err != nil {
		return err
	}
	v.flashAt("people", good, "Invitation withdrawn", "")
	return v.redirect(pathSettings + "#people")
}

func (v *request) sessionRow(s *service.ListedSession) sessionRow {
	return sessionRow{
		ID: s.ID, Where: browserTitle(s.UserAgent, s.Network), Since: v.reader.moment(s.BeganAt),
		Last: v.reader.moment(s.SeenAt), Current: s.Current,
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
func (v *request) confirmEnd() error {
	list, err := ask(v, v.Calls.ListSessions, service.Nothing{})
	if err != nil {
		return err
	}
	for i := range list.Sessions {
		if s := &list.Sessions[i]; s.ID == v.r.PathValue("id") {
			return v.show(http.StatusOK, confirmPage{
				Heading: "End this session?", Subject: browserTitle(s.UserAgent, s.Network), Section: sectionSettings,
				CrumbsTo: settingsCrumb, Stops: []string{
					"That browser is signed out at once. It may sign in again by mail.",
				},
				Stays:  []string{"Keys and programs are not affected."},
				Action: "/settings/sessions/" + s.ID + "/end", Button: "End session",
				Keep: link{"Keep it", pathSettings + "#sessions"},
			})
		}
	}
	return missing("session")
}

// endSession ends one session.
func (v *request) endSession() error {
	if _, err := ask(v, v.Calls.EndSession, service.EndSessionInput{ID: v.r.PathValue("id")}); err != nil {
		return err
	}
	v.flashAt("sessions", good, "Session ended", "")
	return v.redirect(pathSettings + "#sessions")
}

// confirmSignOutEverywhere asks for confirmation before all sessions end.
func (v *request) confirmSignOutEverywhere() error {
	return v.show(http.StatusOK, confirmPage{
		Heading: "Sign out everywhere?", Subject: v.session.Email, Section: sectionSettings, CrumbsTo: settingsCrumb,
		Stops:  []string{"Every session of yours, in all accounts and browsers, this one too."},
		Stays:  []string{"Keys and programs are not affected."},
		Action: "/settings/sessions/end", Button: "Sign out everywhere", Keep: link{
			"Stay signed in", pathSettings + "#sessions",
		},
	})
}

// signOutEverywhere ends all sessions of the user.
func (v *request) signOutEverywhere() error {
	if _, err := ask(v, v.Calls.SignOutEverywhere, service.Nothing{}); err != nil {
		return err
	}
	v.jar.drop(v.w, sessionCookie)
	return v.redirect(pathSignIn)
}

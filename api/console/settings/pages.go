package settings

import "github.com/chainaccess/gateway/api/console/view"

// memberRow is a user of the account.
type memberRow struct {
	ID, Email, Role string
	Since           view.Moment
	Self            bool
	Removable       bool
	Become          string // the role that a button gives; empty for no button
}

// invitationRow is an open invitation.
type invitationRow struct {
	ID, Email, Role string
	Expires         view.Moment
}

// sessionRow is a session of the user.
type sessionRow struct {
	ID, Where string
	Since     view.Moment
	Last      view.Moment
	Current   bool
}

// settingsPage shows everything of an account except its keys.
type settingsPage struct {
	AccountID     string
	Plan          string
	Name          view.Field
	Notifications []view.Check
	Mails         []view.Check // of the user
	TimeZone      view.Field
	Services      []view.ServiceLine
	Members       []memberRow
	Invitations   []invitationRow
	Invite        view.Field
	InviteRole    view.Selection
	Sessions      []sessionRow
	Insights      []view.Selection
	Chains        view.CheckGroup
	Wishes        view.CheckGroup
	WishOther     view.Field
	Owner         bool
	Said          map[string]view.Notice // messages by part of the page
}

// Say shows a message at one of the forms. It returns false when there is no such part.
func (p *settingsPage) Say(part string, n view.Notice) bool {
	if part == "" {
		return false
	}
	p.Said = map[string]view.Notice{part: n}
	return true
}

func (*settingsPage) Head() view.Head {
	return view.Head{
		Template: "settings", Title: "Settings", Section: view.SectionSettings,
		Scripts: []string{view.ScriptForms, view.ScriptTable},
	}
}

// auditPage shows the log of changes, newest first.
type auditPage struct {
	Events []view.Event
	Older  string // URL of the next page; empty at the end
	Newest string // URL of the first page; empty on it
}

func (auditPage) Head() view.Head {
	return view.Head{
		Template: "audit", Title: "Audit log", Section: view.SectionSettings,
		Crumbs: []view.Link{{Text: "Settings", To: "/settings"}},
	}
}

package console

// page is the formatted content of a page. The template of its name renders it.
type page interface{ head() head }

// head is what the frame needs to know about a page.
type head struct {
	Template string
	Title    string
	Section  string // of the navigation; empty for none
	Crumbs   []link
	Bare     bool // without navigation: before sign-in, and public
	Wide     bool // for bare pages: wide enough for commands
	Broad    bool // for bare pages: the full width
	Scripts  []string
}

// Sections of the navigation.
const (
	sectionOverview   = "overview"
	sectionUsage      = "usage"
	sectionKeys       = "keys"
	sectionAgents     = "agents"
	sectionBilling    = "billing"
	sectionStatements = "statements"
	sectionTickets    = "tickets"
	sectionSettings   = "settings"
)

// Scripts by file. Each page works without them.
const (
	scriptCopy    = "copy.js"
	scriptChart   = "chart.js"
	scriptForms   = "forms.js"
	scriptToolbox = "toolbox.js"
	scriptTable   = "table.js" // sorts and filters tables with data-sort and data-filter
)

// signInPage asks for an e-mail address.
type signInPage struct {
	Email field
	Next  string // path to return to
	Then  string // description of that path; may be empty
}

func (signInPage) head() head {
	return head{Template: "signin", Title: "Sign in", Bare: true, Scripts: []string{scriptForms}}
}

// codePage asks for the code in the mail. It is the same for known and unknown addresses.
type codePage struct {
	Email   string
	Code    field
	Minutes int // how long code and link are valid
	DevMail string
}

func (codePage) head() head {
	return head{Template: "code", Title: "Check your mail", Bare: true, Scripts: []string{scriptForms}}
}

// linkPage shows a button that uses the link. Mail scanners follow links but do not press buttons.
type linkPage struct {
	Heading, Text string
	Action        string // where the form posts to
	Token         string // of the link
	Button        string
}

func (p linkPage) head() head {
	return head{Template: "link", Title: p.Heading, Bare: true, Scripts: []string{scriptForms}}
}

// overviewPage shows the units of the period against the allowance, by day, and refusals.
type overviewPage struct {
	Stats    []stat
	Fences   []meterBar
	Chart    chart
	Refusals []notice
	Insights []insight
	Chains   *chainsView // nil when not available
	Keys     []keyRow
	MoreKeys int // number of keys that are not listed here
	Start    *empty
}

func (overviewPage) head() head {
	return head{
		Template: "overview", Title: "Overview", Section: sectionOverview, Scripts: []string{
			scriptCopy, scriptChart, scriptTable,
		},
	}
}

// keyRow is a key in a list.
type keyRow struct {
	ID, Name, Prefix string
	Door             string
	Agent            string
	Status           status
	Created, Used    moment
	Cap              string
}

// keysPage lists keys of an account.
type keysPage struct {
	Keys     []keyRow
	Total    int // keys of the account, listed or not
	Filters  []filter
	Status   string // the listed ones; empty for active
	Find     field
	Findable bool
	// On one of several pages: its position, and the URLs of the previous and the next page; empty
	// where there is none.
	Pages, Newer, Older string
	Empty               *empty
}

func (keysPage) head() head {
	return head{Template: "keys", Title: "Keys", Section: sectionKeys, Scripts: []string{scriptCopy, scriptTable}}
}

var keysCrumb = []link{{"Keys", "/keys"}}

// newKeyPage shows the form for a new key.
type newKeyPage struct {
	Name, Cap field
}

func (newKeyPage) head() head {
	return head{
		Template: "newkey", Title: "Create a key", Section: sectionKeys, Crumbs: keysCrumb,
		Scripts: []string{scriptForms},
	}
}

// secretPage shows a new key once.
type secretPage struct {
	Heading, Name string
	Secret        copyable
	Prefix        string
	Stored        link // "I have stored it"
	FirstCall     copyable
	Section       string
}

func (p secretPage) head() head {
	h := head{
		Template: "secret", Title: p.Heading, Section: p.Section, Crumbs: keysCrumb,
		Scripts: []string{scriptCopy, scriptForms},
	}
	return h
}

// keyPage shows a key with its fences.
type keyPage struct {
	Key         keyRow
	DoorMeaning string
	Revoked     moment
	Bound       string // wallet address
	Fences      []meterBar
	Name, Cap   field
	Services    []serviceLine
	Editable    bool
}

func (p keyPage) head() head {
	return head{
		Template: "key", Title: p.Key.Name, Section: sectionKeys, Crumbs: keysCrumb,
		Scripts: []string{scriptCopy, scriptForms},
	}
}

// agentRow is an agent or an adopted key.
type agentRow struct {
	Name, Address, Via string
	Since              moment
	KeyID, KeyPrefix   string
	Cap                string
	Off                string
}

// agentsPage lists the agents and takes claim codes.
type agentsPage struct {
	Claim  field
	Agents []agentRow
	Empty  *empty
	Owner  bool // may adopt
}

func (agentsPage) head() head {
	return head{Template: "agents", Title: "Agents", Section: sectionAgents, Scripts: []string{scriptCopy, scriptForms}}
}

// memberRow is a user of the account.
type memberRow struct {
	ID, Email, Role string
	Since           moment
	Self            bool
	Removable       bool
	Become          string // the role that a button gives; empty for no button
}

// invitationRow is an open invitation.
type invitationRow struct {
	ID, Email, Role string
	Expires         moment
}

// sessionRow is a session of the user.
type sessionRow struct {
	ID, Where string
	Since     moment
	Last      moment
	Current   bool
}

// settingsPage shows everything of an account except its keys.
type settingsPage struct {
	AccountID     string
	Plan          string
	Name          field
	Notifications []check
	Mails         []check // of the user
	TimeZone      field
	Services      []serviceLine
	Members       []memberRow
	Invitations   []invitationRow
	Invite        field
	InviteRole    selection
	Sessions      []sessionRow
	Insights      []selection
	Chains        checkGroup
	Wishes        checkGroup
	WishOther     field
	Owner         bool
	Said          map[string]notice // messages by part of the page
}

// say shows a message at one of the forms. It returns false when there is no such part.
func (p *settingsPage) say(part string, n notice) bool {
	if part == "" {
		return false
	}
	p.Said = map[string]notice{part: n}
	return true
}

func (*settingsPage) head() head {
	return head{
		Template: "settings", Title: "Settings", Section: sectionSettings, Scripts: []string{scriptForms, scriptTable},
	}
}

// auditPage shows the log of changes, newest first.
type auditPage struct {
	Events []event
	Older  string // URL of the next page; empty at the end
	Newest string // URL of the first page; empty on it
}

func (auditPage) head() head {
	return head{
		Template: "audit", Title: "Audit log", Section: sectionSettings, Crumbs: []link{{"Settings", "/settings"}},
	}
}

// hidden is a hidden value of a form.
type hidden struct{ Name, Value string }

// confirmPage names what will stop, for confirmation.
type confirmPage struct {
	Heading  string
	Subject  string // for example a key's name and prefix
	Stops    []string
	Stays    []string
	Action   string // where the form posts to
	Hidden   []hidden
	Button   string
	Keep     link
	Section  string
	CrumbsTo []link
}

func (p confirmPage) head() head {
	return head{
		Template: "confirm", Title: p.Heading, Section: p.Section, Crumbs: p.CrumbsTo, Scripts: []string{scriptForms},
	}
}

// errorPage shows a refusal in the words of the error envelope.
type errorPage struct {
	Heading string
	Notice  notice
	Back    link
	Public  bool // shown without navigation
}

func (p errorPage) head() head { return head{Template: "error", Title: p.Heading, Bare: p.Public} }

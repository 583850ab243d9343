package console

// page is the content of one page, with everything in it formatted. The template of its name
// renders it.
type page interface{ head() head }

// head is what the frame needs to know of a page.
type head struct {
	Template string
	Title    string
	Section  string // of the rail; empty for none
	Crumbs   []link
	Bare     bool // without rail: before sign-in, and public
	Wide     bool // of bare pages: room for commands
	Broad    bool // of bare pages: all the room there is
	Scripts  []string
}

// Sections of the rail.
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

// Scripts by their files. Each page works without them.
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
	Next  string // path to come back to
	Then  string // what that is, when it is worth saying
}

func (signInPage) head() head {
	return head{Template: "signin", Title: "Sign in", Bare: true, Scripts: []string{scriptForms}}
}

// codePage asks for the code of the mail. It is the same for known and unknown addresses.
type codePage struct {
	Email   string
	Code    field
	Minutes int // how long code and link work
	DevMail string
}

func (codePage) head() head {
	return head{Template: "code", Title: "Check your mail", Bare: true, Scripts: []string{scriptForms}}
}

// linkPage shows a button; pressing it uses the link up. Scanners of mail follow links, they press
// no buttons.
type linkPage struct {
	Heading, Text string
	Action        string // where the button posts to
	Token         string // of the link
	Button        string
}

func (p linkPage) head() head {
	return head{Template: "link", Title: p.Heading, Bare: true, Scripts: []string{scriptForms}}
}

// overviewPage is units of the period against the allowance, by day, and what refuses.
type overviewPage struct {
	Stats    []stat
	Fences   []meterBar
	Chart    chart
	Refusals []notice
	Insights []insight
	Chains   *chainsView // nil while nobody can say
	Keys     []keyRow
	MoreKeys int // keys that are not listed here
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
	Total    int // keys of the account, shown or not
	Filters  []filter
	Status   string // that is shown; empty for active ones
	Find     field
	Findable bool
	// Of several pages: which one this is, and the addresses of those before and after it; empty
	// where there is none.
	Pages, Newer, Older string
	Empty               *empty
}

func (keysPage) head() head {
	return head{Template: "keys", Title: "Keys", Section: sectionKeys, Scripts: []string{scriptCopy, scriptTable}}
}

var keysCrumb = []link{{"Keys", "/keys"}}

// newKeyPage asks for what a new key needs.
type newKeyPage struct {
	Name, Cap field
}

func (newKeyPage) head() head {
	return head{
		Template: "newkey", Title: "Create a key", Section: sectionKeys, Crumbs: keysCrumb,
		Scripts: []string{scriptForms},
	}
}

// secretPage shows a new key, once.
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

// keyPage is one key with its fences.
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

// agentRow is an agent of the fleet, or a key that was adopted.
type agentRow struct {
	Name, Address, Via string
	Since              moment
	KeyID, KeyPrefix   string
	Cap                string
	Off                string
}

// agentsPage lists the fleet and takes claim codes.
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

// invitationRow is an invitation that was not taken yet.
type invitationRow struct {
	ID, Email, Role string
	Expires         moment
}

// sessionRow is a place where the user is signed in.
type sessionRow struct {
	ID, Where string
	Since     moment
	Last      moment
	Current   bool
}

// settingsPage is everything of an account that is not a key.
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
	Said          map[string]notice // what happened, by the part of the page
}

// say takes a message for one of the forms.
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

// auditPage is the log of changes, newest first.
type auditPage struct {
	Events []event
	Older  string // address of the next page; empty at the end
	Newest string // address of the first page; empty on it
}

func (auditPage) head() head {
	return head{
		Template: "audit", Title: "Audit log", Section: sectionSettings, Crumbs: []link{{"Settings", "/settings"}},
	}
}

// hidden is a value that a form carries along.
type hidden struct{ Name, Value string }

// confirmPage names what will stop before it is stopped.
type confirmPage struct {
	Heading  string
	Subject  string // what it is about: a key's name and prefix
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

// errorPage is a refusal for people: the same words as in the envelope.
type errorPage struct {
	Heading string
	Notice  notice
	Back    link
	Public  bool // shown without the rail
}

func (p errorPage) head() head { return head{Template: "error", Title: p.Heading, Bare: p.Public} }

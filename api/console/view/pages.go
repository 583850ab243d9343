// Package view has what every page is made of: the frame, the components, the assets, and
// formatting.
package view

// Page is the formatted content of a page. The template of its name renders it.
type Page interface{ Head() Head }

// Head is what the frame needs to know about a page.
type Head struct {
	Template string
	Title    string
	Section  string // of the navigation; empty for none
	Crumbs   []Link
	Bare     bool // without navigation: before sign-in, and public
	Wide     bool // for bare pages: wide enough for commands
	Broad    bool // for bare pages: the full width
	Scripts  []string
}

// Sections of the navigation.
const (
	SectionOverview   = "overview"
	SectionUsage      = "usage"
	SectionKeys       = "keys"
	SectionAgents     = "agents"
	SectionBilling    = "billing"
	SectionStatements = "statements"
	SectionTickets    = "tickets"
	SectionSettings   = "settings"
	SectionDesk       = "desk"
)

// Scripts by file. Each page works without them.
const (
	ScriptCopy    = "copy.js"
	ScriptChart   = "chart.js"
	ScriptForms   = "forms.js"
	ScriptToolbox = "toolbox.js"
	ScriptTable   = "table.js" // sorts and filters tables with data-sort and data-filter
)

// LinkPage shows a button that uses the link. Mail scanners follow links but do not press buttons.
type LinkPage struct {
	Heading, Text string
	Action        string // where the form posts to
	Token         string // of the link
	Button        string
}

// Head implements Page.
func (p LinkPage) Head() Head {
	return Head{Template: "link", Title: p.Heading, Bare: true, Scripts: []string{ScriptForms}}
}

// ConfirmPage names what will stop, for confirmation.
type ConfirmPage struct {
	Heading  string
	Subject  string // for example a key's name and prefix
	Stops    []string
	Stays    []string
	Action   string // where the form posts to
	Hidden   []Hidden
	Button   string
	Keep     Link
	Section  string
	CrumbsTo []Link
}

// Head implements Page.
func (p ConfirmPage) Head() Head {
	return Head{
		Template: "confirm", Title: p.Heading, Section: p.Section, Crumbs: p.CrumbsTo, Scripts: []string{ScriptForms},
	}
}

// ErrorPage shows a refusal in the words of the error envelope.
type ErrorPage struct {
	Heading string
	Notice  Notice
	Back    Link
	Public  bool // shown without navigation
}

// Head implements Page.
func (p ErrorPage) Head() Head { return Head{Template: "error", Title: p.Heading, Bare: p.Public} }

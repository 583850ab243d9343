// Package paths has the addresses that pages of several sections link to.
package paths

import "strings"

// Pages of the console.
const (
	Overview   = "/overview"
	Usage      = "/usage"
	Keys       = "/keys"
	Agents     = "/agents"
	Billing    = "/billing"
	Statements = "/statements"
	Tickets    = "/tickets"
	NewTicket  = Tickets + "/new"
	Settings   = "/settings"

	// StaffTickets is the desk of the staff.
	StaffTickets = "/staff/tickets"
)

// Pages of signing in.
const (
	SignIn     = "/sign-in"
	SignInLink = SignIn + "/link"
	Accept     = "/invitations/accept" // links of invitations
)

// Pages of support that holders of API keys may use, too. Every error links to Ask.
const (
	Support    = "/support"
	Ask        = Support + "/new"
	AskTickets = Support + "/tickets"
	// AskAbout is the form for help with a request, whose id follows. Error envelopes link to it.
	AskAbout = Ask + "?request_id="
)

// Public pages.
const (
	Toolbox = "/toolbox"
	// Errors begins the paths of the pages of error codes.
	Errors = "/docs/errors/"
)

// MaxLength is the length of the longest path that Local accepts.
const MaxLength = 2048

// Local returns path when it is on this site, and otherwise if it is not. A path that browsers
// read as another host (a second slash, a backslash, a control character that they ignore) is not
// on this site.
func Local(path, otherwise string) string {
	switch {
	case !strings.HasPrefix(path, "/"), strings.HasPrefix(path, "//"), len(path) > MaxLength:
		return otherwise
	case strings.ContainsFunc(path, func(c rune) bool { return c < ' ' || c == '\\' || c == 0x7f }):
		return otherwise
	}
	return path
}

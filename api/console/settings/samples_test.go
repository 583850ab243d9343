package settings

import (
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/api/console/view"
)

// samples are the pages of settings; name is a text that somebody chose.
func samples(name string) map[string]view.Page {
	r := consoletest.Reader()
	return map[string]view.Page{
		"settings": sampleSettings(name),
		"audit": auditPage{Older: "/settings/audit?before=1", Events: []view.Event{
			{
				When: r.Moment(consoletest.Now.Add(-time.Hour)), What: "Key changed", Who: name, Where: "console",
				Changes: []view.Difference{
					{Name: "monthly cap", Before: "", After: "500,000"},
					{Name: name, Before: name, After: name},
				},
			},
			{
				When: r.Moment(consoletest.Now.Add(-70 * time.Hour)), What: "Account suspended", Who: "operator",
				Where: "ops", Reason: "Payment failed.",
			},
		}},
		"audit-empty": auditPage{},
	}
}

func sampleSettings(name string) *settingsPage {
	r := consoletest.Reader()
	return &settingsPage{
		Name:      accountNameField(name, name),
		Said:      map[string]view.Notice{"people": {Tone: view.Good, Title: "Invitation sent", Text: name}},
		AccountID: "019a9f2e-1111-7000-8000-0000000000aa", Plan: "Free", Owner: true,
		Notifications: []view.Check{
			{
				ID: "notify_usage_80", Name: "notify_usage_80", Value: "true", Label: "At 80 % of the quota",
				Checked: true,
			},
			{
				ID: "notify_incidents", Name: "notify_incidents", Value: "true", Label: "Incidents",
				Rule: "When a chain that you use is disturbed, and when it is well again.",
			},
		},
		TimeZone: view.Field{
			Name: "time_zone", Label: "Time zone", Required: true, Value: "Europe/Berlin",
			Options: []string{"UTC", "Europe/Berlin"}, TimeZone: true,
			Rule: "An IANA name, such as Europe/Berlin. Metering periods stay in UTC.",
		},
		Services: consoletest.SampleServices(),
		Members: []memberRow{
			{
				ID: "1", Email: "mira@studio-north.example", Role: "owner",
				Since: r.Moment(consoletest.Now.Add(-9000 * time.Hour)), Self: true,
			},
			{
				ID: "2", Email: name, Role: "member", Since: r.Moment(consoletest.Now.Add(-90 * time.Hour)),
				Removable: true,
			},
		},
		Invitations: []invitationRow{
			{
				ID: "3", Email: "jo@studio-north.example", Role: "member",
				Expires: r.Moment(consoletest.Now.Add(70 * time.Hour)),
			},
		},
		Invite: view.Field{Name: "email", Label: "E-mail address", Type: "email", Required: true, Prefix: "invite-"},
		InviteRole: view.Selection{
			Name: "role", Label: "Role", Rule: "Owners may invite, remove and adopt.",
			Options: []view.Option{
				{Value: "member", Text: "Member", Chosen: true},
				{Value: "owner", Text: "Owner", Chosen: false},
			},
		},
		Sessions: []sessionRow{
			{
				ID: "1", Where: "Firefox on Linux, 203.0.113.0/24", Since: r.Moment(consoletest.Now.Add(-time.Hour)),
				Last: r.Moment(consoletest.Now), Current: true,
			},
			{
				ID: "2", Where: name, Since: r.Moment(consoletest.Now.Add(-100 * time.Hour)),
				Last: r.Moment(consoletest.Now.Add(-30 * time.Hour)),
			},
		},
		Insights: []view.Selection{
			{Name: "use_case", Label: "Use", Options: []view.Option{
				{Value: "", Text: "Not said", Chosen: false}, {Value: "indexing", Text: "Indexing", Chosen: true},
			}},
		},
		Chains: view.CheckGroup{
			Label: "Chains", Checks: []view.Check{
				{ID: "chains-eth", Name: "chains", Value: "eth_mainnet", Label: "Ethereum", Checked: true},
			},
		},
		Wishes: view.CheckGroup{
			Label: "Missing chains", Checks: []view.Check{
				{ID: "wish-btc", Name: "wish_chains", Value: "btc", Label: "Bitcoin"},
			},
		},
		WishOther: view.Field{
			Name: "wish_chain_other", Label: "Another chain", Most: 60, Rule: "Up to 60 characters.", Value: name,
		},
	}
}

func TestPages_KeepToTheRules(t *testing.T) {
	t.Parallel()
	consoletest.CheckSection(t, templates, samples)
}

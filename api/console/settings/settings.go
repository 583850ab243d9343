package settings

import (
	"net/http"
	"slices"

	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/service/accounts"
	"github.com/chainaccess/gateway/service/keys"
	"github.com/chainaccess/gateway/service/operation"
)

// showSettings shows everything of the account except its keys.
func showSettings(v *site.Request) error {
	p, err := settingsPageOf(v)
	if err != nil {
		return err
	}
	return v.Show(http.StatusOK, p)
}

func settingsPageOf(v *site.Request) (*settingsPage, error) {
	now, err := site.Ask(v, v.Calls.UpdateAccount, accounts.UpdateAccountInput{})
	if err != nil {
		return nil, err
	}
	services, err := site.Ask(v, v.Calls.ConfigureServices, keys.ConfigureServicesInput{})
	if err != nil {
		return nil, err
	}
	people, err := site.Ask(v, v.Calls.ListMembers, operation.Nothing{})
	if err != nil {
		return nil, err
	}
	sessions, err := site.Ask(v, v.Calls.ListSessions, operation.Nothing{})
	if err != nil {
		return nil, err
	}
	topics, err := site.Ask(v, v.Calls.ListMailTopics, operation.Nothing{})
	if err != nil {
		return nil, err
	}
	p := &settingsPage{
		Name:      accountNameField(v.Session.AccountName, ""),
		AccountID: v.Session.AccountID, Plan: v.Session.PlanTitle, Owner: v.Owner(),
		Notifications: notifications(&now), Mails: mailChecks(topics.Topics), TimeZone: zoneField(now.TimeZone, ""),
		Services: view.ServiceLines(services.Services, nil), Invite: inviteField("", ""),
		InviteRole: roleSelection(view.RoleMember),
	}
	describePeople(v, p, &people)
	for i := range sessions.Sessions {
		p.Sessions = append(p.Sessions, sessionRowOf(v, &sessions.Sessions[i]))
	}
	describeInsights(p, &now)
	return p, nil
}

// settingsAgain shows the settings with the errors of one form.
func settingsAgain(v *site.Request, wrong site.Mistakes, correct func(*settingsPage)) error {
	p, err := settingsPageOf(v)
	if err != nil {
		return err
	}
	correct(p)
	return v.Show(http.StatusUnprocessableEntity, p, wrong.Notices()...)
}

// saved confirms that a form was saved, at its part of the page.
func saved(v *site.Request, what, part string) error {
	v.FlashAt(part, view.Good, what+" saved", "")
	return v.Redirect(paths.Settings + "#" + part)
}

func notifications(now *accounts.AccountSettings) []view.Check {
	box := func(name, label, rule string, on bool) view.Check {
		return view.Check{ID: name, Name: name, Value: "on", Label: label, Rule: rule, Checked: on}
	}
	return []view.Check{
		box("notify_usage_80", "At 80 % of the quota", "", now.NotifyUsage80),
		box("notify_usage_100", "When the quota is used up", "", now.NotifyUsage100),
		box("notify_incidents", "Incidents",
			"When a chain that was called in the last 30 days is down for five minutes, and when it answers again.",
			now.NotifyIncidents),
	}
}

// saveNotifications saves which mails the account receives.
func saveNotifications(v *site.Request) error {
	ticked := func(name string) *bool {
		on := v.R.PostForm.Get(name) != ""
		return &on
	}
	_, err := site.Ask(v, v.Calls.UpdateAccount, accounts.UpdateAccountInput{
		NotifyUsage80: ticked("notify_usage_80"), NotifyUsage100: ticked("notify_usage_100"),
		NotifyIncidents: ticked("notify_incidents"),
	})
	if err != nil {
		return err
	}
	return saved(v, "Notifications", "notifications")
}

func accountNameField(value, wrong string) view.Field {
	return view.Field{
		Name: "account_name", Label: "Name", Most: 80, Value: value, Error: wrong, Complete: "organization",
		Rule: "Shown to everyone in this account; up to 80 characters. Without a name, your address is shown.",
	}
}

// saveName saves the name of the account.
func saveName(v *site.Request) error {
	name := v.R.PostForm.Get("account_name")
	_, err := site.Ask(v, v.Calls.NameAccount, accounts.NameAccountInput{Name: name})
	if wrong := site.MistakesOf(err, "name"); wrong != nil {
		return settingsAgain(v, wrong, func(p *settingsPage) { p.Name = accountNameField(name, wrong["name"]) })
	}
	if err != nil {
		return err
	}
	return saved(v, "Name", "account")
}

// zones are the time zones that the server offers. A script adds those of the browser.
var zones = []string{
	"UTC", "Africa/Johannesburg", "Africa/Lagos", "America/Argentina/Buenos_Aires", "America/Chicago", "America/Denver",
	"America/Los_Angeles", "America/New_York", "America/Sao_Paulo", "America/Toronto", "Asia/Dubai", "Asia/Hong_Kong",
	"Asia/Kolkata", "Asia/Seoul", "Asia/Shanghai", "Asia/Singapore", "Asia/Tokyo", "Australia/Sydney", "Europe/Berlin",
	"Europe/Istanbul", "Europe/Kyiv", "Europe/Lisbon", "Europe/London", "Europe/Madrid", "Europe/Paris",
	"Europe/Vienna", "Europe/Warsaw", "Europe/Zurich", "Pacific/Auckland",
}

func zoneField(value, wrong string) view.Field {
	return view.Field{
		Name: "time_zone", Label: "Time zone", Required: true, Most: 64, Value: value, Error: wrong, Options: zones,
		TimeZone: true,
		Rule:     "A name from the list, such as Europe/Vienna or Asia/Kolkata. Metering periods stay in UTC.",
	}
}

// saveTimeZone saves the time zone for pages and mails.
func saveTimeZone(v *site.Request) error {
	zone := v.R.PostForm.Get("time_zone")
	_, err := site.Ask(v, v.Calls.UpdateAccount, accounts.UpdateAccountInput{TimeZone: &zone})
	if wrong := site.MistakesOf(err, "time_zone"); wrong != nil {
		return settingsAgain(v, wrong, func(p *settingsPage) { p.TimeZone = zoneField(zone, wrong["time_zone"]) })
	}
	if err != nil {
		return err
	}
	return saved(v, "Time zone", "time")
}

// saveServices saves the service limits of the account.
func saveServices(v *site.Request) error {
	sent := v.ReadServices()
	wrong := sent.Wrong
	if len(wrong) == 0 {
		_, err := site.Ask(v, v.Calls.ConfigureServices, keys.ConfigureServicesInput{
			Enabled: &sent.Enabled, Caps: &sent.Caps,
		})
		wrong = site.MistakesOf(err, site.ServiceFields()...)
		if wrong == nil && err != nil {
			return err
		}
	}
	if len(wrong) > 0 {
		return settingsAgain(v, wrong, func(p *settingsPage) { p.Services = sent.Again(p.Services, wrong) })
	}
	return saved(v, "Services", "services")
}

// question is a question about the account's use, which is optional.
type question struct {
	name, label string
	answers     []view.Option
}

var questions = []question{
	{"use_case", "What for", []view.Option{
		{Value: "trading_bots", Text: "Trading bots", Chosen: false},
		{Value: "indexing", Text: "Indexing", Chosen: false},
		{Value: "wallet_dapp", Text: "Wallet or dapp", Chosen: false},
		{Value: "analytics", Text: "Analytics", Chosen: false},
		{Value: "other", Text: "Something else", Chosen: false},
	}},
	{"team_size", "Team", []view.Option{
		{Value: "solo", Text: "One person", Chosen: false},
		{Value: "2_5", Text: "2 to 5", Chosen: false},
		{Value: "6_20", Text: "6 to 20", Chosen: false},
		{Value: "20_plus", Text: "More than 20", Chosen: false},
	}},
	{"volume", "Units a month", []view.Option{
		{Value: "under_1m", Text: "Under 1 million", Chosen: false},
		{Value: "1m_15m", Text: "1 to 15 million", Chosen: false},
		{Value: "15m_100m", Text: "15 to 100 million", Chosen: false},
		{Value: "100m_plus", Text: "More than 100 million", Chosen: false},
	}},
	{"region", "Where calls come from", []view.Option{
		{Value: "europe", Text: "Europe", Chosen: false},
		{Value: "north_america", Text: "North America", Chosen: false},
		{Value: "asia_pacific", Text: "Asia and Pacific", Chosen: false},
		{Value: "south_america", Text: "South America", Chosen: false},
		{Value: "other", Text: "Elsewhere", Chosen: false},
	}},
	{"previous_provider", "Used before", []view.Option{
		{Value: "alchemy", Text: "Alchemy", Chosen: false},
		{Value: "infura", Text: "Infura", Chosen: false},
		{Value: "quicknode", Text: "QuickNode", Chosen: false},
		{Value: "public_rpcs", Text: "Public endpoints", Chosen: false},
		{Value: "self_hosted", Text: "Nodes of our own", Chosen: false},
		{Value: "first_setup", Text: "None, this is the first", Chosen: false},
	}},
	{"referral_source", "Found us by", []view.Option{
		{Value: "search", Text: "A search", Chosen: false},
		{Value: "x_farcaster", Text: "X or Farcaster", Chosen: false},
		{Value: "friend", Text: "A friend", Chosen: false},
		{Value: "event", Text: "An event", Chosen: false},
		{Value: "blog_newsletter", Text: "A blog or newsletter", Chosen: false},
		{Value: "other", Text: "Something else", Chosen: false},
	}},
}

var (
	chainChoices = []view.Option{
		{Value: "eth_mainnet", Text: "Ethereum", Chosen: false},
		{Value: "base_mainnet", Text: "Base", Chosen: false},
		{Value: "arbitrum_one", Text: "Arbitrum One", Chosen: false},
		{Value: "optimism_mainnet", Text: "Optimism", Chosen: false},
		{Value: "polygon_pos", Text: "Polygon PoS", Chosen: false},
		{Value: "solana_mainnet", Text: "Solana", Chosen: false},
	}
	wishChoices = []view.Option{
		{Value: "avalanche", Text: "Avalanche", Chosen: false},
		{Value: "bnb", Text: "BNB Chain", Chosen: false},
		{Value: "btc", Text: "Bitcoin", Chosen: false},
		{Value: "ton", Text: "TON", Chosen: false},
		{Value: "tron", Text: "Tron", Chosen: false},
		{Value: "sui", Text: "Sui", Chosen: false},
		{Value: "aptos", Text: "Aptos", Chosen: false},
		{Value: "near", Text: "NEAR", Chosen: false},
		{Value: "cosmos", Text: "Cosmos", Chosen: false},
		{Value: "other", Text: "Another one", Chosen: false},
	}
)

func describeInsights(p *settingsPage, now *accounts.AccountSettings) {
	i := &now.Insights
	told := map[string]string{
		"use_case": i.UseCase, "team_size": i.TeamSize, "volume": i.Volume, "region": i.Region,
		"previous_provider": i.PreviousProvider, "referral_source": i.ReferralSource,
	}
	for _, q := range questions {
		s := view.Selection{Name: q.name, Label: q.label}
		if told[q.name] == "" {
			s.Options = append(s.Options, view.Option{Value: "", Text: "Not said", Chosen: true})
		}
		for _, a := range q.answers {
			s.Options = append(s.Options, view.Option{Value: a.Value, Text: a.Text, Chosen: a.Value == told[q.name]})
		}
		p.Insights = append(p.Insights, s)
	}
	p.Chains = choices("Chains in use", "chains", chainChoices, i.Chains)
	p.Wishes = choices("Chains you miss", "wish_chains", wishChoices, i.WishChains)
	p.WishOther = wishField(i.WishChainOther, "")
}

func wishField(value, wrong string) view.Field {
	return view.Field{
		Name: "wish_chain_other", Label: "Another chain you miss", Most: 60, Value: value, Error: wrong,
		Rule: "Up to 60 characters.",
	}
}

func choices(label, name string, from []view.Option, chosen []string) view.CheckGroup {
	g := view.CheckGroup{Label: label}
	for _, o := range from {
		g.Checks = append(g.Checks, view.Check{
			ID: name + "-" + o.Value, Name: name, Value: o.Value, Label: o.Text,
			Checked: slices.Contains(chosen, o.Value),
		})
	}
	return g
}

// saveInsights saves the answers about the account's use. Unanswered questions stay as they are.
func saveInsights(v *site.Request) error {
	answer := func(name string) *string {
		if text := v.R.PostForm.Get(name); text != "" {
			return &text
		}
		return nil
	}
	several := func(name string) *[]string {
		list := append([]string{}, v.R.PostForm[name]...)
		return &list
	}
	other := v.R.PostForm.Get("wish_chain_other")
	_, err := site.Ask(v, v.Calls.UpdateAccount, accounts.UpdateAccountInput{
		UseCase: answer("use_case"), TeamSize: answer("team_size"), Volume: answer("volume"), Region: answer("region"),
		PreviousProvider: answer("previous_provider"), ReferralSource: answer("referral_source"),
		Chains: several("chains"), WishChains: several("wish_chains"), WishChainOther: &other,
	})
	if wrong := site.MistakesOf(err, "wish_chain_other"); wrong != nil {
		return settingsAgain(v, wrong, func(p *settingsPage) {
			p.WishOther = wishField(other, wrong["wish_chain_other"])
		})
	}
	if err != nil {
		return err
	}
	return saved(v, "Answers", "insights")
}

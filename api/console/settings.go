package console

import (
	"net/http"
	"slices"

	"github.com/chainaccess/gateway/service"
)

// settings shows everything of the account except its keys.
func (v *request) settings() error {
	p, err := v.settingsPage()
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, p)
}

func (v *request) settingsPage() (*settingsPage, error) {
	now, err := ask(v, v.Calls.UpdateAccount, service.UpdateAccountInput{})
	if err != nil {
		return nil, err
	}
	services, err := ask(v, v.Calls.ConfigureServices, service.ConfigureServicesInput{})
	if err != nil {
		return nil, err
	}
	people, err := ask(v, v.Calls.ListMembers, service.Nothing{})
	if err != nil {
		return nil, err
	}
	sessions, err := ask(v, v.Calls.ListSessions, service.Nothing{})
	if err != nil {
		return nil, err
	}
	topics, err := ask(v, v.Calls.ListMailTopics, service.Nothing{})
	if err != nil {
		return nil, err
	}
	p := &settingsPage{
		Name:      accountNameField(v.session.AccountName, ""),
		AccountID: v.session.AccountID, Plan: v.session.PlanTitle, Owner: v.owner(),
		Notifications: notifications(&now), Mails: mailChecks(topics.Topics), TimeZone: zoneField(now.TimeZone, ""),
		Services: serviceLines(services.Services, nil), Invite: inviteField("", ""),
		InviteRole: roleSelection(roleMember),
	}
	v.describePeople(p, &people)
	for i := range sessions.Sessions {
		p.Sessions = append(p.Sessions, v.sessionRow(&sessions.Sessions[i]))
	}
	describeInsights(p, &now)
	return p, nil
}

// settingsAgain shows the settings with the errors of one form.
func (v *request) settingsAgain(wrong mistakes, correct func(*settingsPage)) error {
	p, err := v.settingsPage()
	if err != nil {
		return err
	}
	correct(p)
	return v.show(http.StatusUnprocessableEntity, p, wrong.notices()...)
}

// saved confirms that a form was saved, at its part of the page.
func (v *request) saved(what, part string) error {
	v.flashAt(part, good, what+" saved", "")
	return v.redirect(pathSettings + "#" + part)
}

func notifications(now *service.AccountSettings) []check {
	box := func(name, label, rule string, on bool) check {
		return check{ID: name, Name: name, Value: "on", Label: label, Rule: rule, Checked: on}
	}
	return []check{
		box("notify_usage_80", "At 80 % of the quota", "", now.NotifyUsage80),
		box("notify_usage_100", "When the quota is used up", "", now.NotifyUsage100),
		box("notify_incidents", "Incidents",
			"When a chain that was called in the last 30 days is down for five minutes, and when it answers again.",
			now.NotifyIncidents),
	}
}

// saveNotifications saves which mails the account receives.
func (v *request) saveNotifications() error {
	ticked := func(name string) *bool {
		on := v.r.PostForm.Get(name) != ""
		return &on
	}
	_, err := ask(v, v.Calls.UpdateAccount, service.UpdateAccountInput{
		NotifyUsage80: ticked("notify_usage_80"), NotifyUsage100: ticked("notify_usage_100"),
		NotifyIncidents: ticked("notify_incidents"),
	})
	if err != nil {
		return err
	}
	return v.saved("Notifications", "notifications")
}

func accountNameField(value, wrong string) field {
	return field{
		Name: "account_name", Label: "Name", Most: 80, Value: value, Error: wrong, Complete: "organization",
		Rule: "Shown to everyone in this account; up to 80 characters. Without a name, your address is shown.",
	}
}

// saveName saves the name of the account.
func (v *request) saveName() error {
	name := v.r.PostForm.Get("account_name")
	_, err := ask(v, v.Calls.NameAccount, service.NameAccountInput{Name: name})
	if wrong := mistakesOf(err, "name"); wrong != nil {
		return v.settingsAgain(wrong, func(p *settingsPage) { p.Name = accountNameField(name, wrong["name"]) })
	}
	if err != nil {
		return err
	}
	return v.saved("Name", "account")
}

// zones are the time zones that the server offers. A script adds those of the browser.
var zones = []string{
	"UTC", "Africa/Johannesburg", "Africa/Lagos", "America/Argentina/Buenos_Aires", "America/Chicago", "America/Denver",
	"America/Los_Angeles", "America/New_York", "America/Sao_Paulo", "America/Toronto", "Asia/Dubai", "Asia/Hong_Kong",
	"Asia/Kolkata", "Asia/Seoul", "Asia/Shanghai", "Asia/Singapore", "Asia/Tokyo", "Australia/Sydney", "Europe/Berlin",
	"Europe/Istanbul", "Europe/Kyiv", "Europe/Lisbon", "Europe/London", "Europe/Madrid", "Europe/Paris",
	"Europe/Vienna", "Europe/Warsaw", "Europe/Zurich", "Pacific/Auckland",
}

func zoneField(value, wrong string) field {
	return field{
		Name: "time_zone", Label: "Time zone", Required: true, Most: 64, Value: value, Error: wrong, Options: zones,
		TimeZone: true,
		Rule:     "A name from the list, such as Europe/Vienna or Asia/Kolkata. Metering periods stay in UTC.",
	}
}

// saveTimeZone saves the time zone for pages and mails.
func (v *request) saveTimeZone() error {
	zone := v.r.PostForm.Get("time_zone")
	_, err := ask(v, v.Calls.UpdateAccount, service.UpdateAccountInput{TimeZone: &zone})
	if wrong := mistakesOf(err, "time_zone"); wrong != nil {
		return v.settingsAgain(wrong, func(p *settingsPage) { p.TimeZone = zoneField(zone, wrong["time_zone"]) })
	}
	if err != nil {
		return err
	}
	return v.saved("Time zone", "time")
}

// saveServices saves the service fences of the account.
func (v *request) saveServices() error {
	sent := v.readServices()
	wrong := sent.wrong
	if len(wrong) == 0 {
		_, err := ask(v, v.Calls.ConfigureServices, service.ConfigureServicesInput{
			Enabled: &sent.enabled, Caps: &sent.caps,
		})
		wrong = mistakesOf(err, serviceFields()...)
		if wrong == nil && err != nil {
			return err
		}
	}
	if len(wrong) > 0 {
		return v.settingsAgain(wrong, func(p *settingsPage) { p.Services = sent.again(p.Services, wrong) })
	}
	return v.saved("Services", "services")
}

// question is a question about the account's use, which is optional.
type question struct {
	name, label string
	answers     []option
}

var questions = []question{
	{"use_case", "What for", []option{
		{"trading_bots", "Trading bots", false},
		{"indexing", "Indexing", false},
		{"wallet_dapp", "Wallet or dapp", false},
		{"analytics", "Analytics", false},
		{"other", "Something else", false},
	}},
	{"team_size", "Team", []option{
		{"solo", "One person", false},
		{"2_5", "2 to 5", false},
		{"6_20", "6 to 20", false},
		{"20_plus", "More than 20", false},
	}},
	{"volume", "Units a month", []option{
		{"under_1m", "Under 1 million", false},
		{"1m_15m", "1 to 15 million", false},
		{"15m_100m", "15 to 100 million", false},
		{"100m_plus", "More than 100 million", false},
	}},
	{"region", "Where calls come from", []option{
		{"europe", "Europe", false},
		{"north_america", "North America", false},
		{"asia_pacific", "Asia and Pacific", false},
		{"south_america", "South America", false},
		{"other", "Elsewhere", false},
	}},
	{"previous_provider", "Used before", []option{
		{"alchemy", "Alchemy", false},
		{"infura", "Infura", false},
		{"quicknode", "QuickNode", false},
		{"public_rpcs", "Public endpoints", false},
		{"self_hosted", "Nodes of our own", false},
		{"first_setup", "None, this is the first", false},
	}},
	{"referral_source", "Found us by", []option{
		{"search", "A search", false},
		{"x_farcaster", "X or Farcaster", false},
		{"friend", "A friend", false},
		{"event", "An event", false},
		{"blog_newsletter", "A blog or newsletter", false},
		{"other", "Something else", false},
	}},
}

var (
	chainChoices = []option{
		{"eth_mainnet", "Ethereum", false},
		{"base_mainnet", "Base", false},
		{"arbitrum_one", "Arbitrum One", false},
		{"optimism_mainnet", "Optimism", false},
		{"polygon_pos", "Polygon PoS", false},
		{"solana_mainnet", "Solana", false},
	}
	wishChoices = []option{
		{"avalanche", "Avalanche", false},
		{"bnb", "BNB Chain", false},
		{"btc", "Bitcoin", false},
		{"ton", "TON", false},
		{"tron", "Tron", false},
		{"sui", "Sui", false},
		{"aptos", "Aptos", false},
		{"near", "NEAR", false},
		{"cosmos", "Cosmos", false},
		{"other", "Another one", false},
	}
)

func describeInsights(p *settingsPage, now *service.AccountSettings) {
	i := &now.Insights
	told := map[string]string{
		"use_case": i.UseCase, "team_size": i.TeamSize, "volume": i.Volume, "region": i.Region,
		"previous_provider": i.PreviousProvider, "referral_source": i.ReferralSource,
	}
	for _, q := range questions {
		s := selection{Name: q.name, Label: q.label}
		if told[q.name] == "" {
			s.Options = append(s.Options, option{Value: "", Text: "Not said", Chosen: true})
		}
		for _, a := range q.answers {
			s.Options = append(s.Options, option{a.Value, a.Text, a.Value == told[q.name]})
		}
		p.Insights = append(p.Insights, s)
	}
	p.Chains = choices("Chains in use", "chains", chainChoices, i.Chains)
	p.Wishes = choices("Chains you miss", "wish_chains", wishChoices, i.WishChains)
	p.WishOther = wishField(i.WishChainOther, "")
}

func wishField(value, wrong string) field {
	return field{
		Name: "wish_chain_other", Label: "Another chain you miss", Most: 60, Value: value, Error: wrong,
		Rule: "Up to 60 characters.",
	}
}

func choices(label, name string, from []option, chosen []string) checkGroup {
	g := checkGroup{Label: label}
	for _, o := range from {
		g.Checks = append(g.Checks, check{
			ID: name + "-" + o.Value, Name: name, Value: o.Value, Label: o.Text,
			Checked: slices.Contains(chosen, o.Value),
		})
	}
	return g
}

// saveInsights saves the answers about the account's use. Unanswered questions stay as they are.
func (v *request) saveInsights() error {
	answer := func(name string) *string {
		if text := v.r.PostForm.Get(name); text != "" {
			return &text
		}
		return nil
	}
	several := func(name string) *[]string {
		list := append([]string{}, v.r.PostForm[name]...)
		return &list
	}
	other := v.r.PostForm.Get("wish_chain_other")
	_, err := ask(v, v.Calls.UpdateAccount, service.UpdateAccountInput{
		UseCase: answer("use_case"), TeamSize: answer("team_size"), Volume: answer("volume"), Region: answer("region"),
		PreviousProvider: answer("previous_provider"), ReferralSource: answer("referral_source"),
		Chains: several("chains"), WishChains: several("wish_chains"), WishChainOther: &other,
	})
	if wrong := mistakesOf(err, "wish_chain_other"); wrong != nil {
		return v.settingsAgain(wrong, func(p *settingsPage) {
			p.WishOther = wishField(other, wrong["wish_chain_other"])
		})
	}
	if err != nil {
		return err
	}
	return v.saved("Answers", "insights")
}

package console

import (
	"maps"
	"strings"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service"
)

// hostile is a name that somebody could give to a key, an agent or an account.
const hostile = `"><script>alert(1)</script><img src=x onerror=alert(2)> {{.}} 'x' </textarea>`

// long has no place for a line break.
const long = "averyveryverylongnamewithoutanyplacetobreakitwhichsomebodywilltypesoonerorlater.example"

var sampleNow = time.Date(2026, time.November, 20, 14, 5, 0, 0, time.UTC)

func sampleReader() reader { return reader{now: sampleNow, zone: time.UTC} }

func samplePerson() *person {
	return &person{
		Email: "mira@studio-north.example", Account: "Studio North", Plan: "Free",
		Period: period(time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC),
			time.Date(2026, time.December, 1, 0, 0, 0, 0, time.UTC)),
		Left: "10 days left", Others: []otherAccount{{ID: "2", Name: "Personal"}},
	}
}

func sampleDays() []dayUsage {
	var days []dayUsage
	for i := range 20 {
		d := dayUsage{
			stretch:  stretch{start: time.Date(2026, time.November, 1+i, 0, 0, 0, 0, time.UTC), partial: i == 19},
			standard: plan.Units(i*i*137+900) * plan.Unit, requests: int64(i*i*140 + 1000),
		}
		if i%3 == 0 {
			d.heavy = plan.Units(i*800) * plan.Unit
		}
		if i == 7 {
			d = dayUsage{stretch: d.stretch}
		}
		days = append(days, d)
	}
	return days
}

func sampleKeys(name string) []keyRow {
	r := sampleReader()
	return []keyRow{
		{
			ID: "019a9f2e-1111-7000-8000-000000000001", Name: name, Prefix: "cag_aHCrXoRO", Door: "account",
			Status: status{good, "active"}, Created: r.moment(sampleNow.Add(-300 * time.Hour)),
			Used: r.moment(sampleNow.Add(-3 * time.Minute)), Cap: "500,000",
		},
		{
			ID: "019a9f2e-1111-7000-8000-000000000002", Name: "Indexer, staging", Prefix: "cag_9d2LkqPz",
			Door: "account", Status: status{good, "active"}, Created: r.moment(sampleNow.Add(-40 * time.Hour)),
			Cap: "none",
		},
		{
			ID: "019a9f2e-1111-7000-8000-000000000003", Name: "trader-7", Prefix: "cag_00aTz81b", Door: "owner adopted",
			Agent: "trader-7", Status: status{good, "active"}, Created: r.moment(sampleNow.Add(-900 * time.Hour)),
			Used: r.moment(sampleNow.Add(-26 * time.Hour)), Cap: "50,000",
		},
	}
}

func sampleServices() []serviceLine {
	return []serviceLine{
		{Key: "rpc", Label: "RPC", About: "JSON-RPC on every chain", On: true, Used: "612,340"},
		{Key: "data", Label: "Data", About: "balances and history", LockedOff: true, Used: "0"},
		{Key: "gas", Label: "Gas", About: "fee suggestions", On: true, Cap: "20000", Used: "1,204"},
		{
			Key: "tx_status", Label: "Transaction status", About: "status of a transaction", Used: "0", Cap: "x",
			Error: "Takes whole units from 1 to 1,000,000,000,000.",
		},
	}
}

func sampleField(name, label string) field {
	return field{Name: name, Label: label, Required: true, Rule: "1 to 80 characters."}
}

// samples are all pages. name is used wherever a user chooses a text: a normal name or hostile
// content.
func samples(name string) map[string]page {
	r := sampleReader()
	keys := sampleKeys(name)
	revoked := keys[1]
	revoked.ID, revoked.Name, revoked.Status = "019a9f2e-1111-7000-8000-000000000009", "old", status{bad, "revoked"}
	capField := field{
		Name: "monthly_request_cap", Label: "Monthly cap",
		Rule: "Whole units; nothing or 0 for no cap. At most the account's 1,000,000.", Mode: "numeric",
		Value: "500000",
	}
	refused := fault.New(fault.KeyBudget, "")
	all := map[string]page{
		"toolbox":   sampleToolbox(name),
		"home":      sampleHome(name, false),
		"home-made": sampleHome(name, true),
		"pricing":   samplePricing(name),
		"sign-in": signInPage{
			Email: field{
				Name: "email", Label: "E-mail address", Type: "email", Required: true, Complete: "email",
				Autofocus: true, Value: name,
			},
		},
		"sign-in-refused": signInPage{
			Then: "Then you come back to adopt the key.",
			Email: field{
				Name: "email", Label: "E-mail address", Type: "email", Required: true, Complete: "email",
				Value: "mira@", Error: "This is no e-mail address. It takes the form name@host.example.",
			},
		},
		"code": codePage{Email: name, Minutes: 15, DevMail: "/dev/mail", Code: field{
			Name: "code", Label: "Code", Required: true, Mode: "numeric", Complete: "one-time-code",
			Pattern: "[0-9]{6}", Most: 6, Rule: "Six digits.",
		}},
		"link": linkPage{
			Heading: "Sign in", Text: "As mira@studio-north.example.", Action: "/sign-in/link",
			Token: name, Button: "Sign in",
		},
		"entry": newEntryPage(&waitingEntry, name, nil),
		"entry-confirmed": newEntryPage(&service.ShownEntry{About: "waitlist", Status: "confirmed", Email: name}, name,
			&notice{Tone: good, Text: name}),
		"entry-left": newEntryPage(&service.ShownEntry{About: "waitlist", Status: "left", Email: name}, name, nil),
		"entry-wish": newEntryPage(&service.ShownEntry{About: "wishlist", Status: "asked", Wishes: 2, Email: name},
			name, nil),
		"entry-withdrawn": newEntryPage(&service.ShownEntry{About: "wishlist", Status: "withdrawn", Email: name},
			name, nil),
		"overview": overviewPage{
			Stats: []stat{
				{Label: "Units this period", Value: "812,340.5", Unit: "units", Note: "81 % of 1,000,000"},
				{Label: "Requests", Value: "944,120", Note: "13.9 % from the cache, free"},
				{Label: "Today", Value: "49,457", Unit: "units", Note: "so far, UTC"},
				{Label: "Refused", Value: "212", Note: "in the last 24 hours"},
			},
			Fences: []meterBar{
				newMeterBar("Plan, Free", 812_340_500, 1_000_000_000,
					"At 100 % calls are refused with -32007 until 1 Dec 2026, unless a pack has units."),
				newMeterBar("RPC cap", 1_000_000, 1_000_000,
					"RPC is refused with -32014. Raise the cap in the settings."),
				newMeterBar("Gas cap", 1_000_000, 20_000_000, ""),
			},
			Chart: r.newChart(sampleDays()), Refusals: []notice{
				refusalCard(refused, "019a9f2e-1111-7000-8000-0000000000ff"),
			},
			Keys: keys, MoreKeys: 2, Insights: sampleInsightRows(),
		},
		"overview-first": overviewPage{
			Stats: []stat{
				{Label: "Units this period", Value: "0", Unit: "units", Note: "0 % of 1,000,000"},
				{Label: "Requests", Value: "0"},
			},
			Chart: r.newChart([]dayUsage{{stretch: stretch{start: sampleNow.Truncate(dayLength), partial: true}}}),
			Start: &empty{
				Title: "No call yet", Text: "Create a key, then make a first call.",
				Action: &link{"Create key", "/keys/new"},
			},
		},
		"usage": sampleUsagePage(name),
		"keys": keysPage{
			Keys: keys, Total: 120, Findable: true, Find: field{Value: name},
			Filters: filtersOf(pathKeys, [][2]string{{"", "Active (119)"}, {showRevoked, "Revoked (1)"}}, ""),
			Pages:   "Page 2 of 3", Newer: pathKeys, Older: "/keys?page=3", Status: name,
		},
		"keys-empty": keysPage{Empty: &empty{
			Title: "No key yet", Text: "A key is what programs send with each call.",
			Action: &link{"Create key", "/keys/new"},
		}},
		"new-key": newKeyPage{Name: sampleField("name", "Name"), Cap: capField},
		"secret": secretPage{
			Heading: "Key created", Name: name, Prefix: "cag_aHCrXoRO", Section: sectionKeys,
			Secret: copyable{
				ID: "secret", What: "the API key", Text: "cag_aHCrXoRO8jJkkpA0AmJRr2oWWKCKkKJlfPaMzyJtGR334ZJfk",
				Wrap: true,
			},
			Stored:    link{"I have stored it", "/keys/" + keys[0].ID},
			FirstCall: firstCall("https://gateway.example"),
		},
		"key": keyPage{
			Key: keys[0], DoorMeaning: "made by this account", Name: sampleField("name", "Name"), Cap: capField,
			Services: sampleServices(), Editable: true, Fences: []meterBar{
				newMeterBar("Key's cap", 400_000_000, 500_000_000,
					"At 100 % this key is refused with -32006 until 1 Dec 2026."),
			},
		},
		"key-revoked": keyPage{
			Key: revoked, DoorMeaning: "made by this account", Revoked: r.moment(sampleNow.Add(-time.Hour)),
			Bound: "0x00000000219ab540356cBB839Cbe05303d7705Fa",
		},
		"agents": agentsPage{
			Owner: true, Claim: field{
				Name: "claim_code", Label: "Claim code", Required: true, Rule: "Begins with cagc_ and works once.",
				Error: "This code is not known.",
			},
			Agents: []agentRow{
				{
					Name: name, Address: "0x00000000219ab540356cBB839Cbe05303d7705Fa", Via: "wallet signature",
					Since: r.moment(sampleNow.Add(-100 * time.Hour)), KeyID: keys[2].ID, KeyPrefix: keys[2].Prefix,
					Cap: "50,000", Off: "data",
				},
				{Name: "scout", Via: "claim code", Since: r.moment(sampleNow.Add(-time.Hour)), Cap: "50,000"},
			},
		},
		"agents-empty": agentsPage{Owner: true, Claim: sampleField("claim_code", "Claim code"), Empty: &empty{
			Title: "No agent yet", Text: "An agent makes its own key with this command and tells you the claim code.",
			Command: &copyable{
				ID: "agent-key", What: "the command for a key", Text: "curl -X POST https://gateway.example/keys",
			},
		}},
		"settings": sampleSettings(name),
		"audit": auditPage{Older: "/settings/audit?before=1", Events: []event{
			{
				When: r.moment(sampleNow.Add(-time.Hour)), What: "Key changed", Who: name, Where: "console",
				Changes: []difference{{"monthly cap", "", "500,000"}, {name, name, name}},
			},
			{
				When: r.moment(sampleNow.Add(-70 * time.Hour)), What: "Account suspended", Who: "operator",
				Where: "ops", Reason: "Payment failed.",
			},
		}},
		"audit-empty": auditPage{},
		"confirm": confirmPage{
			Heading: "Revoke this key?", Subject: name, Section: sectionKeys, CrumbsTo: keysCrumb,
			Stops: []string{
				"Every call with this key, from this moment, on every chain.",
				"Programs that use it get 401 and code -32001.",
			},
			Stays:  []string{"Its usage stays on your statements."},
			Action: "/keys/" + keys[0].ID + "/revoke", Hidden: []hidden{{"x", name}}, Button: "Revoke key",
			Keep: link{"Keep it", "/keys/" + keys[0].ID},
		},
		"billing": sampleBillingPage(name),
		"billing-off": &billingPage{
			Plan: planCard{Title: "Free", Status: status{good, "in force"}}, Volume: "0", VAT: "Prices are net.",
		},
		"choice": choicePage{
			Heading: "Buy " + name, Facts: []fact{{"Price", name}}, Points: []string{name}, Action: "/billing/buy",
			Hidden: []hidden{{"item", name}}, Button: "Go to payment", Country: &field{
				Name: "country", Label: "Country", Value: name, Error: name,
			},
			Keep: link{"Back", "/billing"},
		},
		"away": awayPage{What: "the payment page", To: link{"Continue", checkoutURL}},
		"done": donePage{
			Title: name, Text: name, Plan: "Scale", Status: status{warn, "not paid yet"},
			Again: &link{"Look again", "/billing/done?checkout=1&look=2"},
		},
		"statements": statementsPage{
			Periods: []periodRow{
				{
					Key: "2026-11-01", Days: "1 – 30 Nov 2026", Status: status{"", "in progress"}, Requests: "–",
					Units: "–",
				},
			},
		},
		"statements-none": statementsPage{},
		"statement":       sampleStatementPage(name),
		"receipt":         sampleReceipt(name),
		"receipt-waiting": receiptPage{
			Seller: name, Asset: "USDC", Network: "Base", Tx: long, JSON: "/x402/receipts/0x1.json",
			Payments: []payment{
				{ID: "payment-1", Wallet: long, Status: status{warn, "waiting for the chain"}, Text: name},
			},
		},
		"error": errorPage{
			Heading: "Not found", Notice: refusalCard(fault.New(fault.NotYours, "%s", name),
				"019a9f2e-1111-7000-8000-0000000000ff"), Back: link{"Back", "/keys"},
		},
		"error-public": errorPage{
			Heading: "There is no such page", Public: true, Back: link{"To the home page", "/"},
			Notice: notice{Tone: warn, Text: "Check the address, or start at the home page."},
		},
	}
	maps.Copy(all, statusSamples(name))
	maps.Copy(all, supportSamples(name))
	maps.Copy(all, claimSamples(name))
	maps.Copy(all, staffSamples(name))
	return all
}

// sampleReceipt has two payments in one transaction.
func sampleReceipt(name string) receiptPage {
	line := happening{Machine: sampleNow.Format(time.RFC3339), Exact: utc(sampleNow), Words: name}
	amounts := &sum{
		Title: "Amount", Unit: "USDC", Lines: []fact{{"Net", "0.090000"}, {"VAT, 20 %", "0.018000"}},
		Total: fact{"Paid", "0.108000"},
	}
	units := &sum{
		Title: "Units", Lines: []fact{{"Used", "7"}, {"Remaining", "9,993"}, {"Expired", "0"}},
		Total: fact{"Bought", "10,000"}, Note: name,
	}
	one := payment{
		ID: "payment-1", Wallet: "0x00000000219ab540356cBB839Cbe05303d7705Fa", Status: status{good, "final"},
		Text: name, Treatment: name, Amounts: amounts, Units: units, Facts: []fact{
			{"Paid", utc(sampleNow)}, {"Tier", name},
		}, History: []happening{line, line},
	}
	two := one
	two.ID, two.Status = "payment-2", status{bad, "reorganised away"}
	return receiptPage{
		Seller: name, Asset: "USDC", Network: "Base, chain 8453", Tx: "0x" + strings.Repeat("ab", 32),
		JSON: "/x402/receipts/0x" + strings.Repeat("ab", 32) + ".json", Payments: []payment{one, two},
	}
}

// sampleToolbox is a page on which every tool was run.
func sampleToolbox(name string) toolboxPage {
	p := toolboxPage{Visitors: "30 uses a minute"}
	groups, err := newToolGroups(definitions(fakeTools()))
	if err != nil {
		panic(err)
	}
	text := jsonText(name)
	answer, err := showAnswer(
		[]byte(`{"name":`+text+`,"none":null,"list":[`+text+`],"table":[{`+text+`:`+text+`}],"rows":{`+text+`:{"x":`+
			text+`}},"deep":[[{"x":`+text+`}]]}`),
		groups[0].tools[0].op.Output())
	if err != nil {
		panic(err)
	}
	for i, g := range groups {
		view := toolGroupView{ID: g.ID, Title: g.Title}
		for _, t := range g.tools {
			values := t.examples()
			fill(t, values, name)
			one := t.view("https://gateway.example", "token", values)
			one.Outcome = &outcome{Title: one.Title, Facts: "Answered in 3 ms.", Answer: &answer, Raw: name}
			if i%2 == 1 {
				card := refusalCard(fault.New(fault.FieldRefused, "%s", name), "019a9f2e-1111-7000-8000-0000000000ff")
				one.Outcome = &outcome{
					Title: one.Title, Refused: &card, Errors: one.blame(mistakes{t.names()[0]: name}),
				}
			}
			view.Tools = append(view.Tools, one)
		}
		p.Groups = append(p.Groups, view)
	}
	return p
}

func sampleSettings(name string) *settingsPage {
	r := sampleReader()
	return &settingsPage{
		Name:      accountNameField(name, name),
		Said:      map[string]notice{"people": {Tone: good, Title: "Invitation sent", Text: name}},
		AccountID: "019a9f2e-1111-7000-8000-0000000000aa", Plan: "Free", Owner: true,
		Notifications: []check{
			{
				ID: "notify_usage_80", Name: "notify_usage_80", Value: "true", Label: "At 80 % of the quota",
				Checked: true,
			},
			{
				ID: "notify_incidents", Name: "notify_incidents", Value: "true", Label: "Incidents",
				Rule: "When a chain that you use is disturbed, and when it is well again.",
			},
		},
		TimeZone: field{
			Name: "time_zone", Label: "Time zone", Required: true, Value: "Europe/Berlin",
			Options: []string{"UTC", "Europe/Berlin"}, TimeZone: true,
			Rule: "An IANA name, such as Europe/Berlin. Metering periods stay in UTC.",
		},
		Services: sampleServices(),
		Members: []memberRow{
			{
				ID: "1", Email: "mira@studio-north.example", Role: "owner",
				Since: r.moment(sampleNow.Add(-9000 * time.Hour)), Self: true,
			},
			{ID: "2", Email: name, Role: "member", Since: r.moment(sampleNow.Add(-90 * time.Hour)), Removable: true},
		},
		Invitations: []invitationRow{
			{
				ID: "3", Email: "jo@studio-north.example", Role: "member",
				Expires: r.moment(sampleNow.Add(70 * time.Hour)),
			},
		},
		Invite: field{Name: "email", Label: "E-mail address", Type: "email", Required: true, Prefix: "invite-"},
		InviteRole: selection{
			Name: "role", Label: "Role", Rule: "Owners may invite, remove and adopt.",
			Options: []option{{"member", "Member", true}, {"owner", "Owner", false}},
		},
		Sessions: []sessionRow{
			{
				ID: "1", Where: "Firefox on Linux, 203.0.113.0/24", Since: r.moment(sampleNow.Add(-time.Hour)),
				Last: r.moment(sampleNow), Current: true,
			},
			{
				ID: "2", Where: name, Since: r.moment(sampleNow.Add(-100 * time.Hour)),
				Last: r.moment(sampleNow.Add(-30 * time.Hour)),
			},
		},
		Insights: []selection{
			{Name: "use_case", Label: "Use", Options: []option{
				{"", "Not said", false}, {"indexing", "Indexing", true},
			}},
		},
		Chains: checkGroup{
			Label: "Chains", Checks: []check{
				{ID: "chains-eth", Name: "chains", Value: "eth_mainnet", Label: "Ethereum", Checked: true},
			},
		},
		Wishes: checkGroup{
			Label: "Missing chains", Checks: []check{
				{ID: "wish-btc", Name: "wish_chains", Value: "btc", Label: "Bitcoin"},
			},
		},
		WishOther: field{
			Name: "wish_chain_other", Label: "Another chain", Most: 60, Rule: "Up to 60 characters.", Value: name,
		},
	}
}

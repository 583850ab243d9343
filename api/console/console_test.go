package console

import (
	"context"
	"html"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service"
)

// routesOf lists the paths that take a method, with ids filled in.
func routesOf(p *Pages, method string) []string {
	var paths []string
	for _, pattern := range p.patterns {
		takes, path, _ := strings.Cut(pattern, " ")
		if takes != method {
			continue
		}
		id := keyOne
		switch {
		case strings.Contains(path, "invoices"):
			id = "in_1"
		case strings.Contains(path, "members"):
			id = "u2"
		case strings.Contains(path, "invitations"):
			id = "i1"
		case strings.Contains(path, "sessions"):
			id = "s2"
		}
		paths = append(paths, strings.NewReplacer("{$}", "", "{id}", id, "{period}", "2026-11-01", "{tx}",
			receiptOf.TxHash, "{reference}", "CAG-1001").Replace(path))
	}
	return paths
}

func TestPages_AreShownToEverySignedInUser(t *testing.T) {
	t.Parallel()
	h := newHouse()
	h.session.Staff = true // the desk's pages exist only for staff
	for _, path := range routesOf(visitorOf(t, h).pages, http.MethodGet) {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			b := personOf(t, h)
			b.cookies["__Host-signin"] = signInUnderWay("cagb_x", "mira@studio-north.example")
			got := b.get(path + map[string]string{
				"/billing/buy": "?item=pack_m", "/billing/change": "?item=growth_monthly",
			}[path])
			if path == "/settings/members" || path == "/sign-in" || path == pathFirstKey { // they lead elsewhere
				if got.status != http.StatusSeeOther {
					t.Errorf("it answers %d", got.status)
				}
				return
			}
			if got.status != http.StatusOK {
				t.Errorf("it answers %d: %s", got.status, got.body)
			}
		})
	}
	if h.changed() != 0 {
		t.Errorf("looking at pages changed something: %v", h.changes)
	}
}

func TestPages_LeadToTheSignInAndBack(t *testing.T) {
	t.Parallel()
	h := newHouse()
	p := visitorOf(t, h).pages
	public := []string{
		"/", pathFirstKey, pathPricing, "/toolbox", pathStatus, "/sign-in", "/sign-in/code",
		"/sign-in/link", "/invitations/accept", pathUnsubscribe, pathEntries, pathReceipts + receiptOf.TxHash,
	}
	for _, path := range routesOf(p, http.MethodGet) {
		if slices.Contains(public, path) || strings.HasPrefix(path, pathSupport+"/") {
			continue
		}
		got := visitorOf(t, h).get(path + "?x=1")
		if want := "/sign-in?next=" + url.QueryEscape(path+"?x=1"); got.status != http.StatusSeeOther ||
			got.header.Get("Location") != want {
			t.Errorf("%s leads to %q with %d, want %q", path, got.header.Get("Location"), got.status, want)
		}
	}
}

func TestCSRF_NoChangeGoesThroughWithoutTheToken(t *testing.T) {
	t.Parallel()
	h := newHouse()
	paths := routesOf(visitorOf(t, h).pages, http.MethodPost)
	if len(paths) < 20 {
		t.Fatalf("only %d routes change something", len(paths))
	}
	for _, path := range paths {
		b := personOf(t, h)
		for _, token := range []string{"", "x", csrfToken("another session", "a1")} {
			if got := b.send(http.MethodPost, path, url.Values{
				tokenField: {token},
			}); got.status != http.StatusForbidden {
				if len(token) > 1 && (path == pathSignInLink || path == pathAccept) &&
					got.header.Get("Location") == pathOverview {
					continue // pressed twice: it changes nothing and shows the next page
				}
				t.Errorf("%s with the token %q answers %d", path, token, got.status)
			}
		}
	}
	if h.changed() != 0 {
		t.Errorf("something was changed: %v", h.changes)
	}
}

// A page left open while the session switched to another account changes nothing in that account.
func TestCSRF_FormOfAnotherAccountChangesNothing(t *testing.T) {
	t.Parallel()
	h := newHouse()
	tried := 0
	for _, path := range routesOf(personOf(t, h).pages, http.MethodPost) {
		if part, _, _ := strings.Cut(path[1:], "/"); !slices.Contains([]string{
			"accounts", "keys", "agents", "settings", "tickets", "feedback",
		}, part) {
			continue // belongs to no account
		}
		for _, account := range []string{"a2", ""} {
			tried++
			b := personOf(t, h)
			got := b.send(http.MethodPost, path, url.Values{
				tokenField: {csrfToken(b.cookies["__Host-"+sessionCookie], account)},
			})
			if got.status != http.StatusConflict || !strings.Contains(got.body, "nothing was done") {
				t.Errorf("%s with a form of account %q answers %d", path, account, got.status)
			}
		}
	}
	if tried < 20 || h.changed() != 0 {
		t.Errorf("%d were tried, changed: %v", tried, h.changes)
	}
}

func TestCSRF_ChangeWithoutASessionLeadsToTheSignIn(t *testing.T) {
	t.Parallel()
	h := newHouse()
	for _, path := range routesOf(visitorOf(t, h).pages, http.MethodPost) {
		if strings.HasPrefix(path, "/sign-") || strings.HasPrefix(path, "/invitations") || path == "/theme" ||
			path == "/toolbox" || path == pathFirstKey || path == pathEntries ||
			strings.HasPrefix(path, pathSupport+"/") {
			continue
		}
		b := visitorOf(t, h)
		b.get("/")
		if got := b.post(path, nil); got.status != http.StatusSeeOther || !strings.HasPrefix(got.header.Get("Location"),
			"/sign-in?next=") {
			t.Errorf("%s answers %d and leads to %q", path, got.status, got.header.Get("Location"))
		}
	}
	if h.changed() != 0 {
		t.Errorf("something was changed: %v", h.changes)
	}
}

func TestFrame_NamesAccountAndPeriodOnEveryPage(t *testing.T) {
	t.Parallel()
	b := personOf(t, newHouse())
	for _, path := range []string{"/overview", "/usage", "/keys", "/agents", "/settings", "/settings/audit"} {
		text := b.get(path).body
		for _, want := range []string{
			"Studio North", "1 – 30 Nov 2026", "10 days left", "mira@studio-north.example", "Switch to Personal",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not name %q", path, want)
			}
		}
	}
}

func TestPages_SuspendedAccountSeesWhyEverywhere(t *testing.T) {
	t.Parallel()
	h := newHouse()
	h.session.Status, h.session.SuspendedFor = account.Suspended, "An invoice was not paid."
	h.refusal = fault.New(fault.AccountSuspended, "Nothing can be changed.")
	b := personOf(t, h)
	for _, path := range []string{"/overview", "/usage", "/keys", "/keys/" + keyOne, "/agents", "/settings"} {
		if got := b.get(path); got.status != http.StatusOK || !strings.Contains(got.body, "An invoice was not paid.") ||
			!strings.Contains(got.body, "-32009") {
			t.Errorf("%s answers %d and does not say why the account is suspended", path, got.status)
		}
	}
	if got := b.post("/keys/"+keyOne+"/revoke", nil); got.status != http.StatusForbidden ||
		!strings.Contains(got.body, "An invoice was not paid.") {
		t.Errorf("a change answers %d", got.status)
	}
	got := b.post("/keys/"+keyOne+"/revoke", nil)
	if !strings.Contains(got.body, `href="/support/new"`) || strings.Contains(got.body, "data.") {
		t.Error("it does not lead to a ticket, or speaks of an envelope that pages do not have")
	}
}

// A member who is not an owner must be told so, with the next step, and not that the key is of the
// wrong kind.
func TestPages_MembersAreToldThatAnOwnerMustAct(t *testing.T) {
	t.Parallel()
	h := newHouse()
	h.session.Role = roleMember
	h.refusal = fault.New(fault.WrongKindOfKey, "Only owners of the account may do this.")
	b := personOf(t, h)
	got := b.post("/settings/invitations", url.Values{"email": {"new@studio-north.example"}, "role": {roleMember}})
	if got.status != http.StatusForbidden || !strings.Contains(got.body, "Only for owners") ||
		!strings.Contains(got.body, `href="/settings#people"`) || strings.Contains(got.body, "kind of key") {
		t.Errorf("it answers %d: %s", got.status, got.body)
	}
	for _, path := range []string{
		"/billing/buy?item=pack_s", "/billing/cancel", "/billing/change?item=growth_monthly",
	} {
		if got := b.get(path); got.status != http.StatusSeeOther || got.header.Get("Location") != "/billing" {
			t.Errorf("%s answers %d and shows a form", path, got.status)
		}
	}
	if text := b.get("/billing").body; !strings.Contains(text, "Only owners of the account can change the plan") {
		t.Error("the billing page does not say who buys")
	}
}

func TestPages_SchemaErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	for problem, want := range map[string]string{
		"expected string to match pattern ^[A-Z]{2}$.":  "Use the format that is described next to the field.",
		"expected length >= 1":                          "Enter something here.",
		"expected length >= 3":                          "Enter at least 3 characters.",
		"expected length <= 5000":                       "Enter 5,000 characters at most.",
		"expected number <= 1e+12":                      "Enter 1,000,000,000,000 or less.",
		"expected number >= 0":                          "Enter 0 or more.",
		"expected required property name to be present": "Enter something here.", "of another kind": "Of another kind.",
	} {
		err := fault.New(fault.FieldRefused, "wrong").With("fields", []map[string]string{
			{"field": "name", "problem": problem},
		})
		if got := mistakesOf(err, "name")["name"]; got != want {
			t.Errorf("%q is told as %q, want %q", problem, got, want)
		}
	}
}

func TestPages_RefusalsShowCodeRequestAndSupport(t *testing.T) {
	t.Parallel()
	h := newHouse()
	h.refusal = fault.New(fault.NotYetInForce, "The change is saved, and not in force yet.").Wrap(
		http.ErrHandlerTimeout)
	got := personOf(t, h).post("/keys/"+keyOne+"/revoke", nil)
	for _, want := range []string{"The change is saved, and not in force yet.", "-32029"} {
		if !strings.Contains(got.body, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if got.status != http.StatusServiceUnavailable || strings.Contains(got.body, http.ErrHandlerTimeout.Error()) {
		t.Errorf("it answers %d: %s", got.status, got.body)
	}
	card := refusalCard(h.refusal, "019a9f2e")
	if card.Request != "019a9f2e" || card.Links[0].To != "/docs/errors/-32029" ||
		card.Links[1].To != "/support/new?request_id=019a9f2e" {
		t.Errorf("the card is %+v", card)
	}
}

func TestFlashMessages_AreShownOnceAndCannotBeForged(t *testing.T) {
	t.Parallel()
	b := personOf(t, newHouse())
	if got := b.post("/keys/"+keyOne+"/revoke", nil); got.header.Get("Location") != "/keys" {
		t.Fatalf("it answers %d and leads to %q", got.status, got.header.Get("Location"))
	}
	left := b.cookies["__Host-flash"]
	if text := b.get("/keys").body; !strings.Contains(text, "Key revoked") {
		t.Error("the next page does not say what happened")
	}
	if text := b.get("/keys").body; strings.Contains(text, "Key revoked") {
		t.Error("the message is shown twice")
	}
	for name, value := range map[string]string{
		"another browser's": sealFlash("another session", []byte(`{"tone":"good","title":"Key revoked"}`)),
		"tampered":          "x" + left, "unsigned": strings.Split(left, ".")[0], "nothing": ".",
	} {
		b.cookies["__Host-flash"] = value
		if got := b.get("/keys"); got.status != http.StatusOK || strings.Contains(got.body, "Key revoked") {
			t.Errorf("a message that is %s is shown", name)
		}
	}
}

func TestFlashMessages_LongPagesConfirmNextToTheForm(t *testing.T) {
	t.Parallel()
	b := personOf(t, newHouse())
	if got := b.post("/settings/notifications", nil); got.header.Get("Location") != "/settings#notifications" {
		t.Fatalf("it leads to %q", got.header.Get("Location"))
	}
	_, part, _ := strings.Cut(b.get("/settings").body, `<h2 id="notifications">`)
	part, _, _ = strings.Cut(part, "</form>")
	if !strings.Contains(part, "Notifications saved") {
		t.Error("the form does not say that it is saved")
	}
}

func TestDestructiveChanges_AreConfirmedWithWhatStops(t *testing.T) {
	t.Parallel()
	h := newHouse()
	for path, want := range map[string]string{
		"/keys/" + keyOne + "/revoke":       "Revoke this key?",
		"/settings/members/u2/remove":       "Remove this member?",
		"/settings/members/u1/remove":       "Leave this account?",
		"/settings/invitations/i1/withdraw": "Withdraw this invitation?",
		"/settings/sessions/s2/end":         "End this session?",
		"/settings/sessions/end":            "Sign out everywhere?",
	} {
		b, before := personOf(t, h), h.changed()
		text := b.get(path).body
		if !strings.Contains(text, want) || !strings.Contains(text, "What stops") ||
			!strings.Contains(text, `action="`+path+`"`) {
			t.Errorf("%s does not ask %q", path, want)
		}
		if h.changed() != before {
			t.Errorf("asking at %s changed something", path)
		}
		if got := b.post(path, nil); got.status != http.StatusSeeOther || h.changed() != before+1 {
			t.Errorf("confirmed, %s answers %d", path, got.status)
		}
	}
}

func TestPages_OtherAccountsThingsAreNotFound(t *testing.T) {
	t.Parallel()
	b := personOf(t, newHouse())
	for _, path := range []string{
		"/keys/019a9f2e-1111-7000-8000-00000000ffff", "/keys/x/revoke", "/settings/members/u9/remove",
		"/settings/invitations/i9/withdraw", "/settings/sessions/s9/end",
	} {
		if got := b.get(path); got.status != http.StatusNotFound {
			t.Errorf("%s answers %d", path, got.status)
		}
	}
}

func TestOverview_CountsThePeriod(t *testing.T) {
	t.Parallel()
	text := personOf(t, newHouse()).get("/overview").body
	for _, want := range []string{
		"812,340.5", "of 1,000,000 in the plan", "812,340.5 of 1,000,000 units",
		"At 100 %, calls are refused with -32007 until 1 Dec 2026.", "2 from the cache, free",
		"20 Nov 2026: 4 units, 4 of them heavy, 0 requests, the day is not over", "indexer", "1 hour ago",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the overview does not say %q", want)
		}
	}
}

func TestOverview_ShowsTheNextStepBeforeTheFirstCall(t *testing.T) {
	t.Parallel()
	h := newHouse()
	h.keys[0].LastUsedAt = nil
	if text := personOf(t, h).get("/overview").body; !strings.Contains(text, "No call yet") ||
		!strings.Contains(text, "/rpc/eth_mainnet") {
		t.Error("with an unused key it shows no call to make")
	}
	h.keys = nil
	if text := personOf(t, h).get("/overview").body; !strings.Contains(text, "No key yet") {
		t.Error("without a key it does not say to make one")
	}
}

func TestPeople_AreManagedByOwnersOnly(t *testing.T) {
	t.Parallel()
	h := newHouse()
	if text := personOf(t, h).get("/settings").body; !strings.Contains(text, "/settings/members/u2/remove") ||
		!strings.Contains(text, `action="/settings/invitations"`) {
		t.Error("an owner cannot manage people")
	}
	h.session.Role = roleMember
	text := personOf(t, h).get("/settings").body
	for _, control := range []string{"/settings/members/u2/", `action="/settings/invitations"`, "/withdraw"} {
		if strings.Contains(text, control) {
			t.Errorf("a member is offered %s", control)
		}
	}
	if strings.Contains(text, "/settings/members/u1/remove") {
		t.Error("the only owner is offered to leave")
	}
	h.members.Members[1].Role = roleOwner
	if text := personOf(t, h).get("/settings").body; !strings.Contains(text, "/settings/members/u1/remove") {
		t.Error("nobody is offered to leave")
	}
}

func TestPeople_LeavingAnAccountEndsTheBrowsersSession(t *testing.T) {
	t.Parallel()
	b := personOf(t, newHouse())
	b.post("/settings/members/u1/remove", nil)
	if _, kept := b.cookies["__Host-session"]; kept {
		t.Error("the session's cookie is kept")
	}
}

func TestSettings_ForbiddenChangesAreExplained(t *testing.T) {
	t.Parallel()
	h := newHouse()
	h.refusal = fault.New(fault.FieldRefused, "The account would have no owner left.").With("field", "user")
	b := personOf(t, h)
	for _, path := range []string{"/settings/members/u1/remove", "/settings/members/u2/role"} {
		if got := b.post(path, url.Values{"role": {roleMember}}); got.header.Get("Location") != "/settings#people" {
			t.Errorf("%s answers %d and leads to %q", path, got.status, got.header.Get("Location"))
		}
		if text := b.get("/settings").body; !strings.Contains(text, "The account would have no owner left.") {
			t.Errorf("after %s the settings do not say why nothing was done", path)
		}
	}
}

func TestSessions_NameBrowsersAsFarAsTheyIdentifyThemselves(t *testing.T) {
	t.Parallel()
	for agent, want := range map[string]string{
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 " +
			"Safari/537.36 Edg/142.0.0.0": "Edge on Windows",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) " +
			"Version/18.1 Mobile/15E148 Safari/604.1": "Safari on iPhone",
		"Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile " +
			"Safari/537.36": "Chrome on Android",
		"": "A program",
	} {
		if got := browserTitle(agent, ""); got != want {
			t.Errorf("%q is called %q, want %q", agent, got, want)
		}
	}
	if got := browserTitle("curl/8.0", "2001:db8::/64"); got != "curl, 2001:db8::/64" {
		t.Errorf("curl is called %q", got)
	}
}

func TestAuditLog_IsPaged(t *testing.T) {
	t.Parallel()
	b := personOf(t, newHouse())
	var asked []string
	b.pages.Calls.ListAudit = func(_ context.Context, _ *service.Caller,
		in service.ListAuditInput,
	) (service.AuditLog, *fault.Error) {
		asked = append(asked, in.Cursor)
		log := service.AuditLog{
			Lines: []service.AuditLine{{At: sampleNow, Action: "create_key", Actor: "user u1", Origin: "console"}},
		}
		if in.Cursor == "" {
			log.NextCursor = "77"
		}
		return log, nil
	}
	older := regexp.MustCompile(`href="([^"]+)"[^>]*>Older`).FindStringSubmatch(b.get(pathAudit).body)
	if older == nil {
		t.Fatal("the log has no way to older lines")
	}
	last := b.get(html.UnescapeString(older[1]))
	if !slices.Equal(asked, []string{"", "77"}) || last.status != http.StatusOK ||
		strings.Contains(last.body, ">Older") || !strings.Contains(last.body, `href="`+pathAudit+`"`) {
		t.Errorf("asked for %q, the last page answers %d: %s", asked, last.status, last.body)
	}
}

func TestAuditLog_NamesActorActionAndDifference(t *testing.T) {
	t.Parallel()
	text := personOf(t, newHouse()).get("/settings/audit").body
	for _, want := range []string{
		"Limits of a key changed", "mira@studio-north.example", "in the console",
		"monthly cap", "500,000", "caps rpc", ">indexer</a>",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the log does not say %q", want)
		}
	}
	if got := differences([]byte(`{"a":1,"b":[1,2],"c":{"d":true},"same":"x"}`),
		[]byte(`{"a":null,"b":[1],"c":{"d":false},"same":"x","new":1000.5}`)); !slices.Equal(got, []difference{
		{"a", "1", ""},
		{"b", "1, 2", "1"},
		{"c d", "yes", "no"},
		{"new", "", "1,000.5"},
	}) {
		t.Errorf("the differences are %v", got)
	}
	if got := differences([]byte(`null`), []byte(`not json`)); len(got) != 0 {
		t.Errorf("documents that are none differ by %v", got)
	}
	if got := actorWords(&service.AuditLine{Actor: "user u7"}); got != "a former user (u7)" {
		t.Errorf("whoever left is called %q", got)
	}
	if got := actorWords(&service.AuditLine{Actor: "key cag_aHCrXoRO"}); got != "key cag_aHCrXoRO" {
		t.Errorf("a key is called %q", got)
	}
}

func TestSettings_FormsChangeOnlyWhatTheySay(t *testing.T) {
	t.Parallel()
	h := newHouse()
	b := personOf(t, h)
	b.post("/settings/notifications", url.Values{"notify_usage_80": {"on"}})
	in := lastChange[service.UpdateAccountInput](t, h)
	if !*in.NotifyUsage80 || *in.NotifyUsage100 || *in.NotifyIncidents || in.TimeZone != nil || in.Chains != nil {
		t.Errorf("notifications change %+v", in)
	}
	b.post("/settings/time-zone", url.Values{"time_zone": {"Asia/Tokyo"}})
	if in = lastChange[service.UpdateAccountInput](t, h); *in.TimeZone != "Asia/Tokyo" || in.NotifyUsage80 != nil {
		t.Errorf("the time zone changes %+v", in)
	}
	b.post("/settings/insights", url.Values{
		"use_case": {"indexing"}, "team_size": {""}, "chains": {"eth_mainnet", "polygon_pos"},
		"wish_chain_other": {"Zcash"},
	})
	in = lastChange[service.UpdateAccountInput](t, h)
	if *in.UseCase != "indexing" || in.TeamSize != nil ||
		!slices.Equal(*in.Chains, []string{"eth_mainnet", "polygon_pos"}) || len(*in.WishChains) != 0 ||
		*in.WishChainOther != "Zcash" {
		t.Errorf("insights change %+v", in)
	}
	b.post("/settings/services", url.Values{
		"enabled": {"rpc", "gas"}, "cap.rpc": {"1,000,000"}, "cap.gas": {""}, "cap.nonsense": {"5"},
	})
	services := lastChange[service.ConfigureServicesInput](t, h)
	if !slices.Equal(*services.Enabled, []string{"rpc", "gas"}) ||
		!maps.Equal(*services.Caps, map[string]int64{"rpc": 1_000_000}) {
		t.Errorf("services change to %v, %v", *services.Enabled, *services.Caps)
	}
	b.post("/settings/invitations", url.Values{"email": {"new@studio-north.example"}, "role": {"owner"}})
	if got := lastChange[service.InviteMemberInput](t, h); got.Email != "new@studio-north.example" ||
		got.Role != roleOwner {
		t.Errorf("inviting sends %+v", got)
	}
	if h.changed() != 5 {
		t.Errorf("there are %d changes", h.changed())
	}
}

func TestForms_ShowMistakesAtTheirFields(t *testing.T) {
	t.Parallel()
	h := newHouse()
	h.refusal = fault.New(fault.FieldRefused, "Correct and send again.").With("fields",
		[]map[string]string{{"field": "time_zone", "problem": "is no zone"}})
	got := personOf(t, h).post("/settings/time-zone", url.Values{"time_zone": {"Mars/Base"}})
	if got.status != http.StatusUnprocessableEntity ||
		!strings.Contains(got.body, `id="time_zone-error">Is no zone.<`) ||
		!strings.Contains(got.body, `value="Mars/Base"`) {
		t.Errorf("it answers %d without the mistake at its field", got.status)
	}
	h.refusal = fault.New(fault.FieldRefused, "caps.gas 5 is wider than the account's cap of 3 units a month.")
	got = personOf(t, h).post("/settings/services", url.Values{"cap.gas": {"5"}})
	if !strings.Contains(got.body, `id="cap-gas-error">caps.gas 5 is wider`) {
		t.Error("a rule of fences is not told at its field")
	}
	h.refusal = fault.New(fault.FieldRefused, "Nobody knows why.")
	if got = personOf(t, h).post("/settings/services", nil); !strings.Contains(got.body, "Nothing was changed") ||
		!strings.Contains(got.body, "Nobody knows why.") {
		t.Error("what belongs to no field is not told above the form")
	}
	h.refusal = nil
	got = personOf(t, h).post("/settings/services", url.Values{"cap.gas": {"-5"}, "cap.rpc": {"a lot"}})
	if strings.Count(got.body, wholeUnits) != 2 || h.changed() != 0 {
		t.Error("caps that are no numbers are not told at their fields")
	}
}

func TestSettings_NameTheAccount(t *testing.T) {
	t.Parallel()
	h := newHouse()
	b := personOf(t, h)
	if body := b.get("/settings").body; !strings.Contains(body, `value="Studio North"`) {
		t.Error("the form does not show the name")
	}
	if got := b.post("/settings/name", url.Values{"account_name": {hostile}}); got.status != http.StatusSeeOther ||
		got.header.Get("Location") != "/settings#account" {
		t.Errorf("answered %d, to %q", got.status, got.header.Get("Location"))
	}
	if in := lastChange[service.NameAccountInput](t, h); in.Name != hostile {
		t.Errorf("named %+v", in)
	}
	h.refusal = fault.New(fault.FieldRefused, "name holds control or invisible characters.").With("field", "name")
	if got := b.post("/settings/name",
		url.Values{"account_name": {hostile}}); got.status != http.StatusUnprocessableEntity ||
		!strings.Contains(got.body, "account_name-error") || strings.Contains(got.body, hostile) {
		t.Errorf("refused it answers %d", got.status)
	}
}

func TestOverview_ShowsTheStatusOfChains(t *testing.T) {
	t.Parallel()
	h := newHouse()
	if body := personOf(t, h).get("/overview").body; !strings.Contains(body, "Arbitrum One") ||
		!strings.Contains(body, `href="/status"`) {
		t.Error("the overview does not say how chains stand")
	}
	h.statusRefused = fault.New(fault.RateWindow, "")
	if got := personOf(t, h).get("/overview"); got.status != http.StatusOK ||
		strings.Contains(got.body, `href="/status">Status and incidents`) {
		t.Errorf("while nobody says how chains stand it answers %d", got.status)
	}
}

// The pages that crawlers may read are the same for everybody and need no session.
func TestPages_PublicOnesAreOpenToEverybody(t *testing.T) {
	t.Parallel()
	h := newHouse()
	b := visitorOf(t, h)
	if got, want := b.pages.Public(), []string{"/", pathPricing, pathToolbox, pathStatus}; !slices.Equal(got, want) {
		t.Fatalf("the public pages are %q", got)
	}
	for _, path := range b.pages.Public() {
		if got := visitorOf(t, h).get(path); got.status != http.StatusOK || got.header.Get("X-Robots-Tag") != "" {
			t.Errorf("%s answers %d, robots %q", path, got.status, got.header.Get("X-Robots-Tag"))
		}
	}
}

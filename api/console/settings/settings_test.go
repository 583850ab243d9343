package settings

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/service/accounts"
	"github.com/chainaccess/gateway/service/keys"
	"github.com/chainaccess/gateway/service/operation"
)

func TestPeople_AreManagedByOwnersOnly(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	if text := consoletest.SignedIn(t, h, Register).Get("/settings").Body; !strings.Contains(text,
		"/settings/members/u2/remove") ||
		!strings.Contains(text, `action="/settings/invitations"`) {
		t.Error("an owner cannot manage people")
	}
	h.Session.Role = view.RoleMember
	text := consoletest.SignedIn(t, h, Register).Get("/settings").Body
	for _, control := range []string{"/settings/members/u2/", `action="/settings/invitations"`, "/withdraw"} {
		if strings.Contains(text, control) {
			t.Errorf("a member is offered %s", control)
		}
	}
	if strings.Contains(text, "/settings/members/u1/remove") {
		t.Error("the only owner is offered to leave")
	}
	h.Members.Members[1].Role = view.RoleOwner
	if text := consoletest.SignedIn(t, h, Register).Get("/settings").Body; !strings.Contains(text,
		"/settings/members/u1/remove") {
		t.Error("nobody is offered to leave")
	}
}

func TestPeople_LeavingAnAccountEndsTheBrowsersSession(t *testing.T) {
	t.Parallel()
	b := consoletest.SignedIn(t, consoletest.NewOperations(), Register)
	b.Post("/settings/members/u1/remove", nil)
	if _, kept := b.Cookies["__Host-session"]; kept {
		t.Error("the session's cookie is kept")
	}
}

func TestSettings_ForbiddenChangesAreExplained(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	h.Refusal = fault.New(fault.FieldRefused, "The account would have no owner left.").With("field", "user")
	b := consoletest.SignedIn(t, h, Register)
	for _, path := range []string{"/settings/members/u1/remove", "/settings/members/u2/role"} {
		got := b.Post(path, url.Values{"role": {view.RoleMember}})
		if got.Header.Get("Location") != "/settings#people" {
			t.Errorf("%s answers %d and leads to %q", path, got.Status, got.Header.Get("Location"))
		}
		if text := b.Get("/settings").Body; !strings.Contains(text, "The account would have no owner left.") {
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
		t.Run(agent, func(t *testing.T) {
			if got := browserTitle(agent, ""); got != want {
				t.Errorf("%q is called %q, want %q", agent, got, want)
			}
		})
	}
	if got := browserTitle("curl/8.0", "2001:db8::/64"); got != "curl, 2001:db8::/64" {
		t.Errorf("curl is called %q", got)
	}
}

func TestAuditLog_IsPaged(t *testing.T) {
	t.Parallel()
	b := consoletest.SignedIn(t, consoletest.NewOperations(), Register)
	var asked []string
	b.Pages.Calls.ListAudit = func(_ context.Context, _ *operation.Caller,
		in accounts.ListAuditInput,
	) (accounts.AuditLog, *fault.Error) {
		asked = append(asked, in.Cursor)
		log := accounts.AuditLog{
			Lines: []accounts.AuditLine{{
				At: consoletest.Now, Action: "create_key", Actor: "user u1",
				Origin: "console",
			}},
		}
		if in.Cursor == "" {
			log.NextCursor = "77"
		}
		return log, nil
	}
	older := regexp.MustCompile(`href="([^"]+)"[^>]*>Older`).FindStringSubmatch(b.Get(pathAudit).Body)
	if older == nil {
		t.Fatal("the log has no way to older lines")
	}
	last := b.Get(html.UnescapeString(older[1]))
	expect.EqualSlices(t, asked, []string{"", "77"})
	expect.Equal(t, last.Status, http.StatusOK)
	expect.NotContains(t, last.Body, ">Older")
	expect.Contains(t, last.Body, `href="`+pathAudit+`"`)
}

func TestAuditLog_NamesActorActionAndDifference(t *testing.T) {
	t.Parallel()
	text := consoletest.SignedIn(t, consoletest.NewOperations(), Register).Get("/settings/audit").Body
	for _, want := range []string{
		"Limits of a key changed", "mira@studio-north.example", "in the console",
		"monthly cap", "500,000", "caps rpc", ">indexer</a>",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the log does not say %q", want)
		}
	}
	if got := differences([]byte(`{"a":1,"b":[1,2],"c":{"d":true},"same":"x"}`),
		[]byte(`{"a":null,"b":[1],"c":{"d":false},"same":"x","new":1000.5}`)); !slices.Equal(got, []view.Difference{
		{Name: "a", Before: "1", After: ""},
		{Name: "b", Before: "1, 2", After: "1"},
		{Name: "c d", Before: "yes", After: "no"},
		{Name: "new", Before: "", After: "1,000.5"},
	}) {
		t.Errorf("the differences are %v", got)
	}
	if got := differences([]byte(`null`), []byte(`not json`)); len(got) != 0 {
		t.Errorf("documents that are none differ by %v", got)
	}
	if got := actorWords(&accounts.AuditLine{Actor: "user u7"}); got != "a former user (u7)" {
		t.Errorf("whoever left is called %q", got)
	}
	if got := actorWords(&accounts.AuditLine{Actor: "key cag_aHCrXoRO"}); got != "key cag_aHCrXoRO" {
		t.Errorf("a key is called %q", got)
	}
}

func TestSettings_FormsChangeOnlyWhatTheySay(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.SignedIn(t, h, Register)
	b.Post("/settings/notifications", url.Values{"notify_usage_80": {"on"}})
	in := consoletest.LastChange[accounts.UpdateAccountInput](t, h)
	at := expect.In(t, "notifications change")
	expect.True(at, *in.NotifyUsage80)
	expect.False(at, *in.NotifyUsage100)
	expect.False(at, *in.NotifyIncidents)
	expect.Nil(at, in.TimeZone)
	expect.Nil(at, in.Chains)
	b.Post("/settings/time-zone", url.Values{"time_zone": {"Asia/Tokyo"}})
	if in = consoletest.LastChange[accounts.UpdateAccountInput](t, h); *in.TimeZone != "Asia/Tokyo" ||
		in.NotifyUsage80 != nil {
		t.Errorf("the time zone changes %+v", in)
	}
	b.Post("/settings/insights", url.Values{
		"use_case": {"indexing"}, "team_size": {""}, "chains": {"eth_mainnet", "polygon_pos"},
		"wish_chain_other": {"Zcash"},
	})
	in = consoletest.LastChange[accounts.UpdateAccountInput](t, h)
	at = expect.In(t, "insights change")
	expect.Equal(at, *in.UseCase, "indexing")
	expect.Nil(at, in.TeamSize)
	expect.EqualSlices(at, *in.Chains, []string{"eth_mainnet", "polygon_pos"})
	expect.Empty(at, *in.WishChains)
	expect.Equal(at, *in.WishChainOther, "Zcash")
	b.Post("/settings/services", url.Values{
		"enabled": {"rpc", "gas"}, "cap.rpc": {"1,000,000"}, "cap.gas": {""}, "cap.nonsense": {"5"},
	})
	services := consoletest.LastChange[keys.ConfigureServicesInput](t, h)
	if !slices.Equal(*services.Enabled, []string{"rpc", "gas"}) ||
		!maps.Equal(*services.Caps, map[string]int64{"rpc": 1_000_000}) {
		t.Errorf("services change to %v, %v", *services.Enabled, *services.Caps)
	}
	b.Post("/settings/invitations", url.Values{"email": {"new@studio-north.example"}, "role": {"owner"}})
	if got := consoletest.LastChange[accounts.InviteMemberInput](t, h); got.Email != "new@studio-north.example" ||
		got.Role != view.RoleOwner {
		t.Errorf("inviting sends %+v", got)
	}
	if h.ChangeCount() != 5 {
		t.Errorf("there are %d changes", h.ChangeCount())
	}
}

func TestForms_ShowMistakesAtTheirFields(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	h.Refusal = fault.New(fault.FieldRefused, "Correct and send again.").With("fields",
		[]map[string]string{{"field": "time_zone", "problem": "is no zone"}})
	got := consoletest.SignedIn(t, h, Register).Post("/settings/time-zone", url.Values{"time_zone": {"Mars/Base"}})
	expect.Equal(t, got.Status, http.StatusUnprocessableEntity)
	expect.Contains(t, got.Body, `id="time_zone-error">Is no zone.<`)
	expect.Contains(t, got.Body, `value="Mars/Base"`)
	h.Refusal = fault.New(fault.FieldRefused, "caps.gas 5 is wider than the account's cap of 3 units a month.")
	got = consoletest.SignedIn(t, h, Register).Post("/settings/services", url.Values{"cap.gas": {"5"}})
	if !strings.Contains(got.Body, `id="cap-gas-error">caps.gas 5 is wider`) {
		t.Error("a rule of fences is not told at its field")
	}
	h.Refusal = fault.New(fault.FieldRefused, "Nobody knows why.")
	if got = consoletest.SignedIn(t, h, Register).Post("/settings/services", nil); !strings.Contains(got.Body,
		"Nothing was changed") ||
		!strings.Contains(got.Body, "Nobody knows why.") {
		t.Error("what belongs to no field is not told above the form")
	}
	h.Refusal = nil
	got = consoletest.SignedIn(t, h, Register).Post("/settings/services",
		url.Values{"cap.gas": {"-5"}, "cap.rpc": {"a lot"}})
	if strings.Count(got.Body, site.WholeUnits) != 2 || h.ChangeCount() != 0 {
		t.Error("caps that are no numbers are not told at their fields")
	}
}

func TestSettings_NameTheAccount(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.SignedIn(t, h, Register)
	if body := b.Get("/settings").Body; !strings.Contains(body, `value="Studio North"`) {
		t.Error("the form does not show the name")
	}
	got := b.Post("/settings/name", url.Values{"account_name": {consoletest.Hostile}})
	if got.Status != http.StatusSeeOther || got.Header.Get("Location") != "/settings#account" {
		t.Errorf("answered %d, to %q", got.Status, got.Header.Get("Location"))
	}
	if in := consoletest.LastChange[accounts.NameAccountInput](t, h); in.Name != consoletest.Hostile {
		t.Errorf("named %+v", in)
	}
	h.Refusal = fault.New(fault.FieldRefused, "name holds control or invisible characters.").With("field", "name")
	got = b.Post("/settings/name", url.Values{"account_name": {consoletest.Hostile}})
	expect.Equal(t, got.Status, http.StatusUnprocessableEntity)
	expect.Contains(t, got.Body, "account_name-error")
	expect.NotContains(t, got.Body, consoletest.Hostile)
}

func TestFlashMessages_LongPagesConfirmNextToTheForm(t *testing.T) {
	t.Parallel()
	b := consoletest.SignedIn(t, consoletest.NewOperations(), Register)
	if got := b.Post("/settings/notifications", nil); got.Header.Get("Location") != "/settings#notifications" {
		t.Fatalf("it leads to %q", got.Header.Get("Location"))
	}
	_, part, _ := strings.Cut(b.Get("/settings").Body, `<h2 id="notifications">`)
	part, _, _ = strings.Cut(part, "</form>")
	if !strings.Contains(part, "Notifications saved") {
		t.Error("the form does not say that it is saved")
	}
}

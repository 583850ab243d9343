package keys

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service"
)

func TestKeys_NewOneIsShownOnceAndStoredNowhere(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.SignedIn(t, h, Register)
	got := b.Post("/keys/new", url.Values{"name": {"indexer"}, "monthly_request_cap": {"500,000"}})
	if got.Status != http.StatusCreated || strings.Count(got.Body, consoletest.Plaintext) != 1 {
		t.Fatalf("it answers %d and shows the key %d times", got.Status, strings.Count(got.Body, consoletest.Plaintext))
	}
	if got.Header.Get("Cache-Control") != "no-store" {
		t.Error("the page may be kept")
	}
	for name, values := range got.Header {
		if strings.Contains(strings.Join(values, ""), consoletest.Plaintext[12:]) {
			t.Errorf("the key stands in the header %s", name)
		}
	}
	if in := consoletest.LastChange[service.CreateKeyInput](t, h); in.Name != "indexer" ||
		*in.MonthlyRequestCap != 500_000 {
		t.Errorf("it asks for %+v", in)
	}
	if !strings.Contains(got.Body, `data-shown-once="/keys/`+consoletest.KeyOne+`"`) ||
		!strings.Contains(got.Body, "I have stored it") {
		t.Error("nothing leads on from the key")
	}
	b.Post("/keys/new", url.Values{"name": {"indexer"}})
	if in := consoletest.LastChange[service.CreateKeyInput](t, h); in.MonthlyRequestCap != nil {
		t.Errorf("without a cap it asks for %d", *in.MonthlyRequestCap)
	}
}

func TestKeys_MistakesInTheFormKeepWhatWasTyped(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	got := consoletest.SignedIn(t, h, Register).Post("/keys/new",
		url.Values{"name": {"indexer <b>"}, "monthly_request_cap": {"much"}})
	if got.Status != http.StatusUnprocessableEntity || !strings.Contains(got.Body, site.WholeUnits) ||
		!strings.Contains(got.Body, `value="indexer &lt;b&gt;"`) || h.ChangeCount() != 0 {
		t.Errorf("it answers %d: %s", got.Status, got.Body)
	}
	h.Refusal = fault.New(fault.FieldRefused, "name is empty. Give a name that you will recognise.")
	got = consoletest.SignedIn(t, h, Register).Post("/keys/new", url.Values{"name": {" "}})
	if !strings.Contains(got.Body, `id="name-error">name is empty.`) {
		t.Error("an empty name is not told at its field")
	}
}

func TestKeys_FencesAreSavedAsTheFormSays(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.SignedIn(t, h, Register)
	all := []string{"rpc", "data", "gas", "tx_status", "ens", "prices", "contracts", "utils"}
	got := b.Post("/keys/"+consoletest.KeyOne, url.Values{
		"monthly_request_cap": {""}, "enabled": all,
		"cap.rpc": {"7"},
	})
	in := consoletest.LastChange[service.ConfigureKeyInput](t, h)
	if got.Header.Get("Location") != "/keys/"+consoletest.KeyOne || in.ID != consoletest.KeyOne ||
		*in.MonthlyRequestCap != 0 ||
		in.Enabled != nil || (*in.Caps)["rpc"] != 7 {
		t.Errorf("it answers %d and changes %+v", got.Status, in)
	}
	b.Post("/keys/"+consoletest.KeyOne, url.Values{"enabled": {"rpc", "gas"}})
	if in = consoletest.LastChange[service.ConfigureKeyInput](t, h); !slices.Equal(*in.Enabled,
		[]string{"rpc", "gas"}) ||
		len(*in.Caps) != 0 {
		t.Errorf("it changes %+v", in)
	}
}

func TestKeys_FormOmitsServicesThatTheAccountSwitchedOff(t *testing.T) {
	t.Parallel()
	now := []view.ServiceLine{{Key: "rpc", On: true}, {Key: "data", On: true, LockedOff: true}, {Key: "gas"}}
	if _, changed := switched(now, []string{"rpc"}); changed {
		t.Error("a service that the form could not offer counts as switched off by it")
	}
	if enabled, changed := switched(now, []string{"rpc", "gas", "data"}); !changed ||
		!slices.Equal(enabled, []string{"rpc", "gas"}) {
		t.Errorf("it asks for %v, changed: %t", enabled, changed)
	}
	if enabled, changed := switched(now, nil); !changed || enabled == nil || len(enabled) != 0 {
		t.Errorf("with everything off it asks for %v, changed: %t", enabled, changed)
	}
	h := consoletest.NewOperations()
	h.Services[1].Enabled = false
	if text := consoletest.SignedIn(t, h, Register).Get("/keys/" + consoletest.KeyOne).Body; !strings.Contains(text,
		"off for the account") {
		t.Error("the page does not say that the account decides")
	}
}

func TestKeys_AgentsKeyNamesTheAgent(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	h.Keys[0].Agent = "g1"
	if text := consoletest.SignedIn(t, h, Register).Get("/keys/" + consoletest.KeyOne).Body; !strings.Contains(text,
		"trader-7") {
		t.Error("the page does not name the agent")
	}
}

func TestKeys_RevokedOnesAreShownAndReadOnly(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.SignedIn(t, h, Register)
	text := b.Get("/keys/" + consoletest.KeyOld).Body
	if !strings.Contains(text, "revoked") || strings.Contains(text, "Save limits") ||
		strings.Contains(text, "Revoke key") {
		t.Error("a revoked key is offered to be changed")
	}
	if got := b.Get("/keys/" + consoletest.KeyOld + "/revoke"); got.Header.Get("Location") != "/keys/"+
		consoletest.KeyOld {
		t.Errorf("revoking it again answers %d", got.Status)
	}
	if text := b.Get("/keys").Body; !strings.Contains(text, "Revoked (1)") {
		t.Error("the list leaves it out")
	}
}

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
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/service/keys"
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
	if in := consoletest.LastChange[keys.CreateKeyInput](t, h); in.Name != "indexer" ||
		*in.MonthlyRequestCap != 500_000 {
		t.Errorf("it asks for %+v", in)
	}
	if !strings.Contains(got.Body, `data-shown-once="/keys/`+consoletest.KeyOne+`"`) ||
		!strings.Contains(got.Body, "I have stored it") {
		t.Error("nothing leads on from the key")
	}
	b.Post("/keys/new", url.Values{"name": {"indexer"}})
	if in := consoletest.LastChange[keys.CreateKeyInput](t, h); in.MonthlyRequestCap != nil {
		t.Errorf("without a cap it asks for %d", *in.MonthlyRequestCap)
	}
}

func TestKeys_MistakesInTheFormKeepWhatWasTyped(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	got := consoletest.SignedIn(t, h, Register).Post("/keys/new",
		url.Values{"name": {"indexer <b>"}, "monthly_request_cap": {"much"}})
	expect.Equal(t, got.Status, http.StatusUnprocessableEntity)
	expect.Contains(t, got.Body, site.WholeUnits)
	expect.Contains(t, got.Body, `value="indexer &lt;b&gt;"`)
	expect.Equal(t, h.ChangeCount(), 0)
	h.Refusal = fault.New(fault.FieldRefused, "name is empty. Give a name that you will recognise.")
	got = consoletest.SignedIn(t, h, Register).Post("/keys/new", url.Values{"name": {" "}})
	if !strings.Contains(got.Body, `id="name-error">name is empty.`) {
		t.Error("an empty name is not told at its field")
	}
}

func TestKeys_LimitsAreSavedAsTheFormSays(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.SignedIn(t, h, Register)
	all := []string{"rpc", "data", "gas", "tx_status", "ens", "prices", "contracts", "utils"}
	got := b.Post("/keys/"+consoletest.KeyOne, url.Values{
		"monthly_request_cap": {""}, "enabled": all,
		"cap.rpc": {"7"},
	})
	in := consoletest.LastChange[keys.ConfigureKeyInput](t, h)
	expect.Equal(t, got.Header.Get("Location"), "/keys/"+consoletest.KeyOne)
	expect.Equal(t, in.ID, consoletest.KeyOne)
	expect.Equal(t, *in.MonthlyRequestCap, 0)
	expect.Nil(t, in.Enabled)
	expect.Equal(t, (*in.Caps)["rpc"], 7)
	b.Post("/keys/"+consoletest.KeyOne, url.Values{"enabled": {"rpc", "gas"}})
	if in = consoletest.LastChange[keys.ConfigureKeyInput](t, h); !slices.Equal(*in.Enabled,
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
	enabled, changed := switched(now, nil)
	in := expect.In(t, "with everything off it asks")
	require.True(in, changed)
	expect.NotNil(in, enabled)
	expect.Empty(in, enabled)
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
	in := expect.In(t, "a revoked key is offered to be changed")
	expect.Contains(in, text, "revoked")
	expect.NotContains(in, text, "Save limits")
	expect.NotContains(in, text, "Revoke key")
	if got := b.Get("/keys/" + consoletest.KeyOld + "/revoke"); got.Header.Get("Location") != "/keys/"+
		consoletest.KeyOld {
		t.Errorf("revoking it again answers %d", got.Status)
	}
	if text := b.Get("/keys").Body; !strings.Contains(text, "Revoked (1)") {
		t.Error("the list leaves it out")
	}
}

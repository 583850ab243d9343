package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service"
)

func TestKeys_NewOneIsShownOnceAndStoredNowhere(t *testing.T) {
	t.Parallel()
	h := newHouse()
	b := personOf(t, h)
	got := b.post("/keys/new", url.Values{"name": {"indexer"}, "monthly_request_cap": {"500,000"}})
	if got.status != http.StatusCreated || strings.Count(got.body, plaintext) != 1 {
		t.Fatalf("it answers %d and shows the key %d times", got.status, strings.Count(got.body, plaintext))
	}
	if got.header.Get("Cache-Control") != "no-store" {
		t.Error("the page may be kept")
	}
	for name, values := range got.header {
		if strings.Contains(strings.Join(values, ""), plaintext[12:]) {
			t.Errorf("the key stands in the header %s", name)
		}
	}
	if in := lastChange[service.CreateKeyInput](t, h); in.Name != "indexer" || *in.MonthlyRequestCap != 500_000 {
		t.Errorf("it asks for %+v", in)
	}
	if !strings.Contains(got.body, `data-shown-once="/keys/`+keyOne+`"`) ||
		!strings.Contains(got.body, "I have stored it") {
		t.Error("nothing leads on from the key")
	}
	b.post("/keys/new", url.Values{"name": {"indexer"}})
	if in := lastChange[service.CreateKeyInput](t, h); in.MonthlyRequestCap != nil {
		t.Errorf("without a cap it asks for %d", *in.MonthlyRequestCap)
	}
}

func TestKeys_MistakesInTheFormKeepWhatWasTyped(t *testing.T) {
	t.Parallel()
	h := newHouse()
	got := personOf(t, h).post("/keys/new", url.Values{"name": {"indexer <b>"}, "monthly_request_cap": {"much"}})
	if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, wholeUnits) ||
		!strings.Contains(got.body, `value="indexer &lt;b&gt;"`) || h.changed() != 0 {
		t.Errorf("it answers %d: %s", got.status, got.body)
	}
	h.refusal = fault.New(fault.FieldRefused, "name is empty. Give a name that you will recognise.")
	got = personOf(t, h).post("/keys/new", url.Values{"name": {" "}})
	if !strings.Contains(got.body, `id="name-error">name is empty.`) {
		t.Error("an empty name is not told at its field")
	}
}

func TestKeys_FencesAreSavedAsTheFormSays(t *testing.T) {
	t.Parallel()
	h := newHouse()
	b := personOf(t, h)
	all := []string{"rpc", "data", "gas", "tx_status", "ens", "prices", "contracts", "utils"}
	got := b.post("/keys/"+keyOne, url.Values{"monthly_request_cap": {""}, "enabled": all, "cap.rpc": {"7"}})
	in := lastChange[service.ConfigureKeyInput](t, h)
	if got.header.Get("Location") != "/keys/"+keyOne || in.ID != keyOne || *in.MonthlyRequestCap != 0 ||
		in.Enabled != nil || (*in.Caps)["rpc"] != 7 {
		t.Errorf("it answers %d and changes %+v", got.status, in)
	}
	b.post("/keys/"+keyOne, url.Values{"enabled": {"rpc", "gas"}})
	if in = lastChange[service.ConfigureKeyInput](t, h); !slices.Equal(*in.Enabled, []string{"rpc", "gas"}) ||
		len(*in.Caps) != 0 {
		t.Errorf("it changes %+v", in)
	}
}

func TestKeys_FormOmitsServicesThatTheAccountSwitchedOff(t *testing.T) {
	t.Parallel()
	now := []serviceLine{{Key: "rpc", On: true}, {Key: "data", On: true, LockedOff: true}, {Key: "gas"}}
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
	h := newHouse()
	h.services[1].Enabled = false
	if text := personOf(t, h).get("/keys/" + keyOne).body; !strings.Contains(text, "off for the account") {
		t.Error("the page does not say that the account decides")
	}
}

func TestKeys_AgentsKeyNamesTheAgent(t *testing.T) {
	t.Parallel()
	h := newHouse()
	h.keys[0].Agent = "g1"
	if text := personOf(t, h).get("/keys/" + keyOne).body; !strings.Contains(text, "trader-7") {
		t.Error("the page does not name the agent")
	}
}

func TestKeys_RevokedOnesAreShownAndReadOnly(t *testing.T) {
	t.Parallel()
	h := newHouse()
	b := personOf(t, h)
	text := b.get("/keys/" + keyOld).body
	if !strings.Contains(text, "revoked") || strings.Contains(text, "Save limits") ||
		strings.Contains(text, "Revoke key") {
		t.Error("a revoked key is offered to be changed")
	}
	if got := b.get("/keys/" + keyOld + "/revoke"); got.header.Get("Location") != "/keys/"+keyOld {
		t.Errorf("revoking it again answers %d", got.status)
	}
	if text := b.get("/keys").body; !strings.Contains(text, "Revoked (1)") {
		t.Error("the list leaves it out")
	}
}

package keys

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/service/agents"
)

const claimCode = "cagc_aHCrXoRO8jJkkpA0AmJRr2oWWKCKkKJlfPaMzyJtGR334ZJfk"

func TestAdoption_ReturnsToTheAgentsPageWithItsResult(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.SignedIn(t, h, Register)
	got := b.Post("/agents/adopt", url.Values{"claim_code": {" " + claimCode + "\r\n"}}) // as it may be pasted
	if got.Status != http.StatusFound || got.Header.Get("Location") != "/agents?adopted="+consoletest.KeyTwo {
		t.Fatalf("it answers %d and leads to %q", got.Status, got.Header.Get("Location"))
	}
	if in := consoletest.LastChange[agents.AdoptKeyInput](t, h); in.ClaimCode != claimCode {
		t.Errorf("it asks for %+v", in)
	}
	if text := b.Get("/agents?adopted=" + consoletest.KeyTwo).Body; strings.Contains(text, "Key adopted") {
		t.Error("a key that is not of the account is called adopted")
	}
	h.Agents = append(h.Agents, agents.AgentView{
		ClaimedVia: "claim_code", ClaimedAt: consoletest.Now.Add(-3 * time.Hour), KeyID: consoletest.KeyTwo,
		KeyPrefix: "cag_00aTz81b",
	})
	text := b.Get("/agents?adopted=" + consoletest.KeyTwo).Body
	if !strings.Contains(text, "3 hours ago") {
		t.Error("the page does not say when it was adopted")
	}
	if !strings.Contains(text, "Key adopted") || !strings.Contains(text, "cag_00aTz81b…") {
		t.Error("the page does not say what was adopted")
	}
	if text := b.Get("/agents").Body; strings.Contains(text, "Key adopted") {
		t.Error("the page says so for ever")
	}
	h.Refusal = fault.New(fault.NotYours, "No key has this claim code.")
	got = b.Post("/agents/adopt", url.Values{"claim_code": {claimCode}})
	if got.Status != http.StatusFound || got.Header.Get("Location") != "/agents?refused=not_found" {
		t.Errorf("refused, it answers %d and leads to %q", got.Status, got.Header.Get("Location"))
	}
	if text := b.Get("/agents?refused=not_found").Body; !strings.Contains(text, "No key has this claim code.") {
		t.Error("the page does not say why nothing was adopted")
	}
	h.Refusal = fault.New(fault.NotYetInForce, "Saved, and not in force yet.")
	if got = b.Post("/agents/adopt", url.Values{
		"claim_code": {claimCode},
	}); got.Status != http.StatusServiceUnavailable {
		t.Errorf("a failure of the service answers %d", got.Status)
	}
}

func TestClaim_LinkKeepsItsCodeThroughTheSignIn(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	path := "/agents?claim_code=" + claimCode
	if got := consoletest.Visitor(t, h, Register).Get(path); got.Header.Get("Location") != "/sign-in?next="+
		url.QueryEscape(path) {
		t.Errorf("it leads to %q", got.Header.Get("Location"))
	}
	got := consoletest.SignedIn(t, h, Register).Get(path)
	if !strings.Contains(got.Body, `name="claim_code" type="text" value="`+claimCode+`"`) ||
		got.Header.Get("Referrer-Policy") != "no-referrer" {
		t.Error("the form does not hold the code, or its address may be named")
	}
}

func TestAgents_FleetListsAgentsAndAdoptedKeys(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	text := consoletest.SignedIn(t, h, Register).Get("/agents").Body
	for _, want := range []string{
		"trader-7", "0x00000000219ab540356cBB839Cbe05303d7705Fa", "wallet signature",
		"/keys/" + consoletest.KeyOne, "scout", "none", ">data<",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the fleet does not show %q", want)
		}
	}
	h.Session.Role = view.RoleMember
	if text := consoletest.SignedIn(t, h, Register).Get("/agents").Body; strings.Contains(text,
		`action="/agents/adopt"`) {
		t.Error("a member is offered to adopt")
	}
	h.Agents = nil
	if text := consoletest.SignedIn(t, h, Register).Get("/agents").Body; !strings.Contains(text, "No agent yet") ||
		!strings.Contains(text, "curl -X POST https://gateway.example/keys") {
		t.Error("without agents it does not say how they come")
	}
}

func TestAdoption_AcceptsJSONFromPrograms(t *testing.T) {
	t.Parallel()
	const session = "__Host-session=" + consoletest.SessionValue
	for name, c := range map[string]struct {
		body, cookie string
		header       map[string]string
		refusal      *fault.Error
		status       int
		reason       fault.Reason
	}{
		"by an owner": {
			body: `{"claim_code":"` + claimCode + `"}`, cookie: session, status: http.StatusFound,
		},
		"from a page of this site": {
			body: `{"claim_code":"x"}`, cookie: session, header: map[string]string{
				"Origin": "https://gateway.example", "Sec-Fetch-Site": "same-origin",
			}, status: http.StatusFound,
		},
		"refused": {
			body: `{"claim_code":"x"}`, cookie: session, refusal: fault.New(fault.NotYours, ""),
			status: http.StatusNotFound, reason: fault.NotYours,
		},
		"by nobody": {
			body: `{"claim_code":"x"}`, refusal: fault.New(fault.KeyInvalid, ""),
			status: http.StatusUnauthorized, reason: fault.KeyInvalid,
		},
		"no JSON": {body: `{`, cookie: session, status: http.StatusBadRequest, reason: fault.NotJSON},
		"another type": {
			body: `{"claim_code":5}`, cookie: session, status: http.StatusUnprocessableEntity,
			reason: fault.FieldRefused,
		},
		"no object": {
			body: `[]`, cookie: session, status: http.StatusUnprocessableEntity, reason: fault.FieldRefused,
		},
		"too large": {
			body: `{"claim_code":"` + strings.Repeat("x", site.MaxFormBytes) + `"}`, cookie: session,
			status: http.StatusRequestEntityTooLarge, reason: fault.BodyTooLarge,
		},
		"from another site": {
			body: `{"claim_code":"x"}`, cookie: session, header: map[string]string{
				"Origin":         "https://evil.example",
				"Sec-Fetch-Site": "cross-site",
			}, status: http.StatusUnprocessableEntity, reason: fault.FieldRefused,
		},
		"from an old browser": {
			body: `{"claim_code":"x"}`, cookie: session, header: map[string]string{"Origin": "https://evil.example"},
			status: http.StatusUnprocessableEntity, reason: fault.FieldRefused,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := consoletest.NewOperations()
			h.Refusal = c.refusal
			p := consoletest.Visitor(t, h, Register).Pages
			var refused *fault.Error
			p.Refuse = func(w http.ResponseWriter, f *fault.Error) {
				refused = f
				w.WriteHeader(f.HTTP())
			}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/agents/adopt",
				strings.NewReader(c.body))
			r.Header.Set("Content-Type", "application/json; charset=utf-8")
			r.Header.Set("Cookie", c.cookie)
			for name, value := range c.header {
				r.Header.Set(name, value)
			}
			w := httptest.NewRecorder()
			p.ServeHTTP(w, r)
			expect.Equal(t, w.Code, c.status)
			expect.Equal(t, refused == nil, c.reason == 0)
			if refused != nil {
				expect.Equal(t, refused.Reason, c.reason)
			}
			if c.status == http.StatusFound && w.Header().Get("Location") != "/agents?adopted="+consoletest.KeyTwo {
				t.Errorf("it leads to %q", w.Header().Get("Location"))
			}
			if changed := h.ChangeCount(); (changed == 1) != (c.status == http.StatusFound) {
				t.Errorf("it changes %d things", changed)
			}
		})
	}
}

package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service"
)

// The button creates one key. Only this answer contains it, in the panel and in the command; no
// cache and no URL does.
func TestFirstPage_MakesAKeyWithOneButtonAndShowsItOnce(t *testing.T) {
	t.Parallel()
	h := newHouse()
	b := visitorOf(t, h)
	b.get("/")
	got := b.post("/first-key", nil)
	if got.status != http.StatusCreated || got.header.Get("Cache-Control") != "no-store" ||
		got.header.Get("Location") != "" {
		t.Fatalf("it answers %d with %v", got.status, got.header)
	}
	lastChange[service.GetKeyInput](t, h)
	page := parse(t, got.body)
	if shown := text(byID(t, page, "secret")); shown != plaintext {
		t.Errorf("the panel shows %q", shown)
	}
	if command := text(byID(t, page, "first-call-command")); !strings.Contains(command, "Bearer "+plaintext+"'") ||
		strings.Contains(command, keyPlaceholder) {
		t.Errorf("the command is %q", command)
	}
	if code := text(byID(t, page, "claim-code")); code != "cagc_for-the-owner" {
		t.Errorf("the claim code is %q", code)
	}
	for _, n := range elements(page) {
		for _, a := range n.Attr {
			if strings.Contains(a.Val, plaintext) || strings.Contains(a.Val, "cagc_") {
				t.Errorf("<%s %s=%q> carries a secret", n.Data, a.Key, a.Val)
			}
		}
	}
	for name, value := range b.cookies {
		if strings.Contains(value, plaintext) {
			t.Errorf("the cookie %s carries the key", name)
		}
	}
	if again := b.get("/first-key"); again.status != http.StatusSeeOther || again.header.Get("Location") != "/" ||
		h.changed() != 1 {
		t.Errorf("the address of the form answers %d, and %d keys were made", again.status, h.changed())
	}
	if later := b.get("/"); strings.Contains(later.body, plaintext) {
		t.Error("the key is shown again")
	}
}

func TestFirstPage_ExplainsAKeyBeyondTheNetworksQuota(t *testing.T) {
	t.Parallel()
	h := newHouse()
	h.refusal = fault.New(fault.NewKeyQuota, "")
	h.refusal.RetryAfter = 90 * time.Minute
	b := visitorOf(t, h)
	b.get("/")
	got := b.post("/first-key", nil)
	if got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") != "5400" {
		t.Errorf("it answers %d, to come back after %s s", got.status, got.header.Get("Retry-After"))
	}
	for _, want := range []string{
		"-32024", `href="/docs/errors/-32024"`,
		"has made its three keys of the UTC day. Use one of them, or have an account adopt one.", "Make a key",
	} {
		if !strings.Contains(got.body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(got.body, `id="secret"`) {
		t.Error("a key is shown")
	}
}

func TestFirstPage_OtherSitesCannotMakeAKey(t *testing.T) {
	t.Parallel()
	h := newHouse()
	b := visitorOf(t, h)
	b.get("/")
	if got := b.send(http.MethodPost, "/first-key", url.Values{
		tokenField: {"forged"},
	}); got.status != http.StatusForbidden || h.changed() != 0 {
		t.Errorf("without the page's token it answers %d, and %d keys were made", got.status, h.changed())
	}
}

// The home page shows the chains, prices and the ways to a key. No part depends on another.
func TestFirstPage_ShowsChainsPricesAndDoors(t *testing.T) {
	t.Parallel()
	h := newHouse()
	page := text(parse(t, visitorOf(t, h).get("/").body))
	for _, want := range []string{
		"Ethereum", "degraded", "not measured", "10,000 a day", "$99.00 a month", "$6.60", "Anonymous key",
		"Wallet-bound key", "Pay per call", "0.090000 USDC for 10,000 units", "Not sold on the main network",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("it lacks %q", want)
		}
	}
	h.statusRefused = fault.New(fault.RateWindow, "")
	if got := visitorOf(t, h).get("/"); got.status != http.StatusOK || strings.Contains(got.body, `id="chains"`) ||
		!strings.Contains(got.body, "Make a key") {
		t.Errorf("while nobody says how chains stand it answers %d", got.status)
	}
}

func TestPricing_ShowsThePlans(t *testing.T) {
	t.Parallel()
	page := text(parse(t, visitorOf(t, newHouse()).get("/pricing").body))
	for _, want := range []string{
		"$99.00 a month", "$990.00 a year", "10,000 a day", "100 in 15 minutes", "6,000 a minute",
		"slower: 10 a second", "refused with -32016 until 00:00 UTC", "Pack S", "$8.33", "0.090000 USDC",
		"Founding price: Pro at $79.00 a month, locked for 12 months, for new subscriptions, 42 seats left, " +
			"until 6 Dec 2026, 00:00 UTC", "A standard call of a chain1 unit",
		"A heavy one: " + chain.HeavyCalls() + "2 units", "× 0.5", "20 % VAT", "10,000,000 units a month.",
	} {
		if !strings.Contains(strings.ReplaceAll(page, "\n", ""), want) {
			t.Errorf("it lacks %q", want)
		}
	}
}

// The calculator works without a script: the volume is in the URL, and an error is shown at its
// field.
func TestPricing_CalculatorUsesTheVolumeOfTheURL(t *testing.T) {
	t.Parallel()
	b := visitorOf(t, newHouse())
	if got := b.get("/pricing?units=5%2C000%2C000"); got.status != http.StatusOK ||
		!strings.Contains(got.body, `value="5,000,000"`) || !strings.Contains(got.body, "5,000,000 units a month.") {
		t.Errorf("5,000,000 units answer %d", got.status)
	}
	for typed, words := range map[string]string{
		"lots": "whole number", "-5": "whole number", "1.5": "whole number",
		"9000000000000": "at most 1,000,000,000,000", `"><b>`: "whole number",
	} {
		got := b.get("/pricing?units=" + url.QueryEscape(typed))
		page := parse(t, got.body)
		if problem := text(byID(t, page, "units-error")); got.status != http.StatusUnprocessableEntity ||
			!strings.Contains(problem, words) {
			t.Errorf("%q answers %d: %s", typed, got.status, problem)
		}
		if value, _ := attribute(byID(t, page, "units"), "value"); value != typed ||
			strings.Contains(got.body, "units a month. ") {
			t.Errorf("%q comes back as %q", typed, value)
		}
	}
}

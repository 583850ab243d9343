package home

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/keys"
)

// The button creates one key. Only this answer contains it, in the panel and in the command; no
// cache and no URL does.
func TestFirstPage_MakesAKeyWithOneButtonAndShowsItOnce(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.Visitor(t, h, register)
	b.Get("/")
	got := b.Post("/first-key", nil)
	require.Equal(t, got.Status, http.StatusCreated)
	require.Equal(t, got.Header.Get("Cache-Control"), "no-store")
	require.Equal(t, got.Header.Get("Location"), "")
	consoletest.LastChange[keys.GetKeyInput](t, h)
	page := consoletest.Parse(t, got.Body)
	if shown := consoletest.Text(consoletest.ByID(t, page, "secret")); shown != consoletest.Plaintext {
		t.Errorf("the panel shows %q", shown)
	}
	if command := consoletest.Text(consoletest.ByID(t, page, "first-call-command")); !strings.Contains(command,
		"Bearer "+consoletest.Plaintext+"'") ||
		strings.Contains(command, view.KeyPlaceholder) {
		t.Errorf("the command is %q", command)
	}
	if code := consoletest.Text(consoletest.ByID(t, page, "claim-code")); code != "cagc_for-the-owner" {
		t.Errorf("the claim code is %q", code)
	}
	for _, n := range consoletest.Elements(page) {
		for _, a := range n.Attr {
			if strings.Contains(a.Val, consoletest.Plaintext) || strings.Contains(a.Val, "cagc_") {
				t.Errorf("<%s %s=%q> carries a secret", n.Data, a.Key, a.Val)
			}
		}
	}
	for name, value := range b.Cookies {
		if strings.Contains(value, consoletest.Plaintext) {
			t.Errorf("the cookie %s carries the key", name)
		}
	}
	again := b.Get("/first-key")
	in := expect.In(t, "the address of the form")
	expect.Equal(in, again.Status, http.StatusSeeOther)
	expect.Equal(in, again.Header.Get("Location"), "/")
	expect.Equal(in, h.ChangeCount(), 1)
	if later := b.Get("/"); strings.Contains(later.Body, consoletest.Plaintext) {
		t.Error("the key is shown again")
	}
}

func TestFirstPage_ExplainsAKeyBeyondTheNetworksQuota(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	h.Refusal = fault.New(fault.NewKeyQuota, "")
	h.Refusal.RetryAfter = 90 * time.Minute
	b := consoletest.Visitor(t, h, register)
	b.Get("/")
	got := b.Post("/first-key", nil)
	if got.Status != http.StatusTooManyRequests || got.Header.Get("Retry-After") != "5400" {
		t.Errorf("it answers %d, to come back after %s s", got.Status, got.Header.Get("Retry-After"))
	}
	for _, want := range []string{
		"-32024", `href="/docs/errors/-32024"`,
		"has made its three keys of the UTC day. Use one of them, or have an account adopt one.", "Make a key",
	} {
		if !strings.Contains(got.Body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(got.Body, `id="secret"`) {
		t.Error("a key is shown")
	}
}

func TestFirstPage_OtherSitesCannotMakeAKey(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.Visitor(t, h, register)
	b.Get("/")
	if got := b.Send(http.MethodPost, "/first-key", url.Values{
		site.TokenField: {"forged"},
	}); got.Status != http.StatusForbidden || h.ChangeCount() != 0 {
		t.Errorf("without the page's token it answers %d, and %d keys were made", got.Status, h.ChangeCount())
	}
}

// The home page shows the chains, prices and the ways to a key. No part depends on another.
func TestFirstPage_ShowsChainsPricesAndDoors(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	page := consoletest.Text(consoletest.Parse(t, consoletest.Visitor(t, h, register).Get("/").Body))
	for _, want := range []string{
		"Ethereum", "degraded", "not measured", "10,000 a day", "$99.00 a month", "$6.60", "Anonymous key",
		"Wallet-bound key", "Pay per call", "0.090000 USDC for 10,000 units", "Not sold on the main network",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("it lacks %q", want)
		}
	}
	h.StatusRefused = fault.New(fault.RateWindow, "")
	got := consoletest.Visitor(t, h, register).Get("/")
	in := expect.In(t, "while nobody says how chains stand")
	expect.Equal(in, got.Status, http.StatusOK)
	expect.NotContains(in, got.Body, `id="chains"`)
	expect.Contains(in, got.Body, "Make a key")
}

func TestPricing_ShowsThePlans(t *testing.T) {
	t.Parallel()
	page := consoletest.Text(consoletest.Parse(t, consoletest.Visitor(t, consoletest.NewOperations(),
		register).Get("/pricing").Body))
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
	b := consoletest.Visitor(t, consoletest.NewOperations(), register)
	got := b.Get("/pricing?units=5%2C000%2C000")
	in := expect.In(t, "5,000,000 units answer")
	expect.Equal(in, got.Status, http.StatusOK)
	expect.Contains(in, got.Body, `value="5,000,000"`)
	expect.Contains(in, got.Body, "5,000,000 units a month.")
	for typed, words := range map[string]string{
		"lots": "whole number", "-5": "whole number", "1.5": "whole number",
		"9000000000000": "at most 1,000,000,000,000", `"><b>`: "whole number",
	} {
		t.Run(typed, func(t *testing.T) {
			got := b.Get("/pricing?units=" + url.QueryEscape(typed))
			page := consoletest.Parse(t, got.Body)
			if problem := consoletest.Text(consoletest.ByID(t, page,
				"units-error")); got.Status != http.StatusUnprocessableEntity ||
				!strings.Contains(problem, words) {
				t.Errorf("%q answers %d: %s", typed, got.Status, problem)
			}
			if value, _ := consoletest.Attribute(consoletest.ByID(t, page, "units"), "value"); value != typed ||
				strings.Contains(got.Body, "units a month. ") {
				t.Errorf("%q comes back as %q", typed, value)
			}
		})
	}
}

// register registers the home page without a tool.
func register(s *site.Site) error {
	return Register(s, func(*site.Request, string) *view.Tool { return nil })
}

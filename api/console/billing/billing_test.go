package billing

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/billing"
	"github.com/chainaccess/gateway/service/operation"
)

// row returns the text of the table row that begins with a name, with single spaces.
func row(t *testing.T, page, name string) string {
	t.Helper()
	for _, n := range consoletest.Elements(consoletest.Parse(t, page), "tr") {
		if got := strings.Join(strings.Fields(spaced(n)), " "); strings.HasPrefix(got, name) {
			return got
		}
	}
	t.Errorf("no row begins with %q", name)
	return ""
}

// spaced returns the text under a node, with spaces between elements.
func spaced(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data + " ")
		}
	}
	return b.String()
}

func TestBillingPage_ShowsPaymentsAndPricesTheVolumeOnEachRung(t *testing.T) {
	t.Parallel()
	b := consoletest.SignedIn(t, consoletest.NewOperations(), Register)
	got := b.Get("/billing").Body
	text := strings.Join(strings.Fields(spaced(consoletest.Parse(t, got))), " ")
	for _, want := range []string{
		"Plan Scale active Subscription Scale by the month Price $299.00 net a month",
		"Then renewed, until you cancel", "Brand visa Number ends in 4242 Expires 07/2028",
		"You used 20,000,000 units in the last 30 days. At this volume Builder", "VAT of 20 % is added.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for name, want := range map[string]string{
		"Scale by the month": "Scale by the month current premium supply $299.00 a month 60,000,000 $4.98 $299.00",
		"Builder": "Builder by the month cheapest public supply $12.00 a month 20,000,000 $0.60 " +
			"$12.00 Change Builder by the month",
		"Pro by the year": "Pro by the year premium supply $990.00 a year 15,000,000 $5.50 $132.50 Change Pro by " +
			"the year",
		"Pack L": "Pack L premium supply $200.00 once 32,000,000 $6.25 $200.00 Buy Pack L",
		"Pro by the month, f": "Pro by the month, founding price premium supply · 41 seats left, until 6 Dec 2026, " +
			"00:00 UTC $79.00 a month 15,000,000 $5.27 $129.00",
		"Pay per call": "Pay per call wholesale supply paid per call 1,000,000 $9.00 $180.00",
		"Free":         "Free public supply free 1,000,000 $0.00 $0.00 refused beyond its units",
		"Pack M":       "Pack M 5,250,000 7,000,000 25 % 20 Dec 2025 in 20 days",
		"CAG-0002": "CAG-0002 19 Nov 2026 Next period charge declined $299.00 $59.80 $358.80 Pay invoice " +
			"CAG-0002",
		"CAG-0001": "CAG-0001 15 Nov 2026 First period paid $299.00 $59.80 $358.80 Open invoice CAG-0001",
	} {
		t.Run(name, func(t *testing.T) {
			if got := row(t, got, name); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
	if strings.Contains(text, "Public key") || strings.Contains(text, "founding price Change") {
		t.Error("it shows what cannot be had")
	}
}

func TestBillingPage_OrdersTheLadderByPriceWithinEachGroup(t *testing.T) {
	t.Parallel()
	_, ladder, _ := consoletest.SampleBilling()
	want := []string{
		"Builder by the month, Pro by the month, founding price, Pro by the month, Scale by the month, Growth by the " +
			"month",
		"Pro by the year, Scale by the year, Growth by the year", "Pack S, Pack M, Pack L", "Free, Pay per call",
	}
	groups := func() []string {
		var all []string
		for _, g := range view.LadderOf(&ladder, &billing.BillingStatus{}, false) {
			var titles []string
			for _, r := range g.Rungs {
				titles = append(titles, r.Title)
			}
			all = append(all, strings.Join(titles, ", "))
		}
		return all
	}
	if got := groups(); !slices.Equal(got, want) {
		t.Errorf("the groups are %q, want %q", got, want)
	}
	for i := range ladder.Rungs { // an offer stays next to its plan however low its price is
		if r := &ladder.Rungs[i]; r.Key == plan.Founding().Key {
			consoletest.Set(r, 5_00, 5_00, 33, 5_00)
		}
	}
	if got := groups(); !slices.Equal(got, want) {
		t.Errorf("with a lower offer the groups are %q, want %q", got, want)
	}
}

func TestBillingPage_PricesPremiumSupplyForAVolumeOnly(t *testing.T) {
	t.Parallel()
	_, ladder, _ := consoletest.SampleBilling()
	if got := view.Cheapest(&ladder); !strings.Contains(got, "With premium supply it is Pro by the year: $132.50.") {
		t.Errorf("it says %q", got)
	}
	ladder.Volume = 0
	if got := view.Cheapest(&ladder); !strings.Contains(got, "is cheapest") || strings.Contains(got, "premium") {
		t.Errorf("of no units it says %q", got)
	}
}

func TestBillingPage_HidesButtonsFromNonOwnersAndWhenPaymentsAreOff(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*consoletest.Operations){
		"a member":         func(h *consoletest.Operations) { h.Session.Role = view.RoleMember },
		"payments are off": func(h *consoletest.Operations) { h.Status.Live = false },
	} {
		h := consoletest.NewOperations()
		change(h)
		body := consoletest.SignedIn(t, h, Register).Get("/billing").Body
		for _, n := range consoletest.Elements(consoletest.Parse(t, body), "a", "form") {
			for _, attr := range []string{"href", "action"} {
				if to, _ := consoletest.Attribute(n, attr); strings.HasPrefix(to, "/billing/") {
					t.Errorf("%s: there is a way to %s", name, to)
				}
			}
		}
		if name == "payments are off" && !strings.Contains(body, "Payments are off on this gateway") {
			t.Errorf("%s: the page does not say it", name)
		}
	}
}

func TestBillingPage_SaysHowThePlanContinues(t *testing.T) {
	t.Parallel()
	until := consoletest.Now.AddDate(0, 0, 25)
	for name, c := range map[string]struct {
		change func(*billing.SubscriptionView)
		want   []string
		not    string
	}{
		"cancelled": {
			func(s *billing.SubscriptionView) { s.CancelAtPeriodEnd = true }, []string{
				"ends with its period", "it ends, and the Free plan follows", "Resume plan",
			}, "Cancel plan",
		},
		"planned": {func(s *billing.SubscriptionView) {
			s.Item, s.Held, s.HeldUntil = "pro_monthly", "scale_monthly", &until
		}, []string{"Until 15 Dec 2026 Scale by the month Then Pro by the month", "Cancel plan"}, "Resume plan"},
		"past due": {func(s *billing.SubscriptionView) { s.Status = subscription.PastDue }, []string{
			"payment is due", "The last invoice is not paid", "The plan stays active while the charge is retried",
			"The charge is retried on 23 Nov 2026, 15:05 CET.",
		}, "All attempts"},
		"unpaid": {
			func(s *billing.SubscriptionView) { s.Status = subscription.Unpaid }, []string{
				"not paid", "so the account is on the Free plan",
			}, "stays active while",
		},
		"over": {
			func(s *billing.SubscriptionView) { s.Status, s.EndedAt = subscription.Canceled, &until },
			[]string{"Scale by the month, ended", "Ended 15 Dec 2026", "Choose Pro by the month"},
			"Cancel plan",
		},
		"founding": {
			func(s *billing.SubscriptionView) { s.Founding, s.PriceCents = true, 79_00 },
			[]string{"$79.00 net a month, the founding price"},
			"Resume plan",
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := consoletest.NewOperations()
			c.change(h.Status.Subscription.Value)
			text := strings.Join(strings.Fields(spaced(consoletest.Parse(t,
				consoletest.SignedIn(t, h, Register).Get("/billing").Body))), " ")
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("the page lacks %q", want)
				}
			}
			if strings.Contains(text, c.not) {
				t.Errorf("the page says %q", c.not)
			}
		})
	}
}

func TestBillingPage_PurchaseIsConfirmedAndLeadsToThePaymentPage(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.SignedIn(t, h, Register)
	text := b.Get("/billing/buy?item=pack_m").Body
	for _, want := range []string{
		"Buy Pack M", "$50.00 net once", "7,000,000", `name="item" value="pack_m"`, `value="DE"`, "Go to payment",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if h.ChangeCount() != 0 {
		t.Error("looking at it began a checkout")
	}
	got := b.Post("/billing/buy", url.Values{"item": {"pack_m"}, "country": {" us "}})
	if in := consoletest.LastChange[billing.StartCheckoutInput](t, h); in.Item != "pack_m" || in.Country != "US" {
		t.Errorf("it bought %+v", in)
	}
	expect.Equal(t, got.Status, http.StatusOK)
	expect.Equal(t, got.Header.Get("Refresh"), "0; url="+consoletest.CheckoutURL)
	expect.Contains(t, got.Body, html.EscapeString(consoletest.CheckoutURL))
	expect.Equal(t, got.Header.Get("Cache-Control"), "no-store")
	expect.Equal(t, got.Header.Get("Referrer-Policy"), "no-referrer")
	if got := b.Get("/billing/buy?item=yacht"); got.Status != http.StatusNotFound {
		t.Errorf("something that is not on sale answers %d", got.Status)
	}
}

func TestBillingPage_SaysWhyAPurchaseOrChangeIsRefused(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	h.Refusal = fault.New(fault.FieldRefused, "country takes the ISO 3166-1 code of a country.").With("field",
		"country")
	b := consoletest.SignedIn(t, h, Register)
	if got := b.Post("/billing/buy",
		url.Values{"item": {"pro_yearly"}, "country": {"x"}}); got.Status != http.StatusUnprocessableEntity ||
		!strings.Contains(got.Body, "country takes the ISO") {
		t.Errorf("a country that is none answers %d", got.Status)
	}
	h.Refusal = fault.New(fault.FieldRefused, "The card was declined, so nothing was changed.")
	for _, path := range []string{
		"/billing/buy", "/billing/change", "/billing/cancel", "/billing/resume",
		"/billing/portal", "/billing/invoices/in_1",
	} {
		got := b.Post(path, url.Values{"item": {"growth_monthly"}})
		if got.Status != http.StatusSeeOther || got.Header.Get("Location") != "/billing" ||
			got.Header.Get("Refresh") != "" {
			t.Errorf("%s answers %d, leads to %q", path, got.Status, got.Header.Get("Location"))
			continue
		}
		if body := b.Get("/billing").Body; !strings.Contains(body, "The card was declined, so nothing was changed.") {
			t.Errorf("%s: the billing page does not say why", path)
		}
	}
}

func TestBillingPage_DoesNotFollowABadAddressOfTheProvider(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"javascript:alert(1)", "/overview", "", "data:text/html,x", "//evil.example"} {
		h := consoletest.NewOperations()
		b := consoletest.SignedIn(t, h, Register)
		b.Pages.Calls.OpenPortal = consoletest.Record[operation.Nothing](h, billing.Portal{URL: to})
		if got := b.Post("/billing/portal", nil); got.Status != http.StatusInternalServerError ||
			got.Header.Get("Refresh") != "" {
			t.Errorf("%q answers %d with %v", to, got.Status, got.Header)
		}
	}
}

func TestBillingPage_ShowsTheCostOfAChangeBeforehand(t *testing.T) {
	t.Parallel()
	for item, want := range map[string][]string{
		"growth_monthly": {"In force at once", "Change and pay the difference", "$899.00 net a month"},
		"scale_yearly":   {"In force at once", "$2,990.00 net a year"},
		"pro_monthly": {
			"Scale by the month continues until 15 Dec 2026, 15:05 CET, then Pro by the month takes over.",
			"Nothing is charged now.",
		},
	} {
		t.Run(item, func(t *testing.T) {
			h := consoletest.NewOperations()
			got := consoletest.SignedIn(t, h, Register).Get("/billing/change?item=" + item).Body
			for _, text := range want {
				if !strings.Contains(strings.ReplaceAll(got, "It takes effect", "In force"), text) {
					t.Errorf("the page lacks %q", text)
				}
			}
			if h.ChangeCount() != 0 {
				t.Error("looking changed something")
			}
		})
	}
	h := consoletest.NewOperations()
	b := consoletest.SignedIn(t, h, Register)
	h.Status.Subscription.Value.Status = subscription.PastDue
	if got := b.Get("/billing/change?item=growth_monthly"); got.Header.Get("Location") != "/billing" ||
		!strings.Contains(b.Get("/billing").Body, "Pay the open invoice first") {
		t.Errorf("past due it answers %d to %q", got.Status, got.Header.Get("Location"))
	}
	h.Status.Subscription.Value = nil
	if got := b.Get("/billing/change?item=growth_monthly"); got.Header.Get(
		"Location") != "/billing/buy?item=growth_monthly" {
		t.Errorf("without a subscription it leads to %q", got.Header.Get("Location"))
	}
}

func TestBillingPage_SaysWhatCameOfAPlanChange(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.SignedIn(t, h, Register)
	got := b.Get("/billing/cancel").Body
	in := expect.In(t, "cancelling is not confirmed with what stops")
	expect.Contains(in, got, "Cancel the plan?")
	expect.Contains(in, got, "What stops")
	expect.Contains(in, got, "15 Dec 2026")
	for path, want := range map[string]string{
		"/billing/change": "The new plan is in force.",
		"/billing/cancel": "It ends with its period. It appears here within a few minutes.",
		"/billing/resume": "The subscription goes on.",
	} {
		t.Run(path, func(t *testing.T) {
			b.Post(path, url.Values{"item": {"growth_monthly"}})
			if body := b.Get("/billing").Body; !strings.Contains(body, want) {
				t.Errorf("the page does not say %q", want)
			}
		})
	}
	if in, ok := h.Changes[0].(billing.ChangePlanInput); ok && in.Item != "growth_monthly" {
		t.Errorf("it changed to %+v", in)
	}
}

func TestBillingPage_RefreshesForAWhileAfterPayment(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.SignedIn(t, h, Register)
	path := "/billing/done?checkout=" + consoletest.CheckoutOne
	got := b.Get(path)
	in := expect.In(t, "a paid one")
	expect.Equal(in, got.Header.Get("Refresh"), "")
	expect.Contains(in, got.Body, "what was bought is in force")
	expect.Contains(in, got.Body, "Scale")
	h.Checkout.State, h.Checkout.Note = checkoutOpen, "No payment is seen yet."
	for look := range 15 {
		got := b.Get(path)
		again := got.Header.Get("Refresh")
		if (again != "") != (look < maxLooks) || !strings.Contains(got.Body, "No payment is seen yet.") {
			t.Fatalf("look %d answers %d with Refresh %q", look, got.Status, again)
		}
		if _, next, found := strings.Cut(again, "url="); found {
			path = next
		}
	}
	b.Pages.Calls.FinishCheckout = consoletest.Record[billing.FinishCheckoutInput](h, billing.FinishedCheckout{})
	h.Refusal = fault.New(fault.NotYours, "No checkout of yours has this id.")
	if got := b.Get(path); got.Status != http.StatusNotFound {
		t.Errorf("another account's answers %d", got.Status)
	}
}

func TestBillingPage_PagesOlderInvoices(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.SignedIn(t, h, Register)
	var asked []billing.ListInvoicesInput
	b.Pages.Calls.ListInvoices = func(_ context.Context, _ *operation.Caller,
		in billing.ListInvoicesInput,
	) (billing.InvoiceList, *fault.Error) {
		asked = append(asked, in)
		if in.Before == "x" {
			return billing.InvoiceList{}, fault.New(fault.FieldRefused, "before takes a time.")
		}
		return h.Invoices, nil
	}
	_, link, found := strings.Cut(b.Get("/billing").Body, `href="/billing?invoices_before=`)
	link, _, _ = strings.Cut(link, "#")
	before, err := time.Parse(time.RFC3339Nano, html.UnescapeString(link))
	in := expect.In(t, "older ones")
	require.True(in, found, link)
	require.NoError(in, err)
	require.True(in, before.Equal(h.Invoices.Invoices[1].CreatedAt), before, h.Invoices.Invoices[1].CreatedAt)
	b.Get("/billing?invoices_before=" + link)
	if got := b.Get("/billing?invoices_before=x"); got.Status != http.StatusOK {
		t.Errorf("an address that somebody changed answers %d", got.Status)
	}
	require.Len(t, asked, 4)
	expect.Equal(t, asked[1].Before, link)
	expect.Equal(t, asked[3].Before, "")
}

func TestBillingPage_AmountsAreReadable(t *testing.T) {
	t.Parallel()
	for in, want := range map[plan.Cents]string{
		0: "$0.00", 5: "$0.05", 1_250_00: "$1,250.00", -1_250_01: "-$1,250.01",
	} {
		t.Run(in.String(), func(t *testing.T) {
			if got := view.Dollars(in); got != want {
				t.Errorf("%d: %q, want %q", in, got, want)
			}
		})
	}
	if got := view.Amount(1_250_00, "eur"); got != "1,250.00 EUR" {
		t.Errorf("in another currency: %q", got)
	}
}

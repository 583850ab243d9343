package home

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/advice"
	"github.com/chainaccess/gateway/service/keys"
)

const (
	// homeTool is the tool whose form is on the home page.
	homeTool = "get_gas"
	// pathFirstKey is where the button on the home page creates a key. POST /keys belongs to the
	// interface for programs.
	pathFirstKey = "/first-key"
)

// ToolForm returns the form of a tool by its name, or nil when there is no such tool.
type ToolForm func(v *site.Request, name string) *view.Tool

// home is the home page: what the service is, a button that creates a key, a tool to try, the state
// of the chains, and prices.
type home struct {
	tool   ToolForm
	prices *offers
}

// serve shows the home page.
func (h *home) serve(v *site.Request) error { return h.show(v, http.StatusOK, nil, nil) }

// makeKey creates an anonymous key, within the limits of POST /keys. This answer is the only one
// that shows it.
func (h *home) makeKey(v *site.Request) error {
	made, err := site.Ask(v, v.Calls.GetKey, keys.GetKeyInput{})
	if err != nil {
		f := fault.From(err)
		if f.Reason == fault.InternalFault {
			return err
		}
		v.RetryAfter(f)
		card := view.RefusalCard(f, v.ID)
		return h.show(v, f.HTTP(), nil, &card)
	}
	return h.show(v, http.StatusCreated, &made, nil)
}

// show shows the home page with a new key, or with the reason why none was created.
func (h *home) show(v *site.Request, status int, made *keys.Welcome, refused *view.Notice) error {
	if err := v.EnsureCSRFCookie(); err != nil {
		return err
	}
	offers, err := h.prices.read(v)
	if err != nil {
		offers = advice.PlanList{} // the rest of the page does not need them
	}
	p := homePage{
		Tool: h.tool(v, homeTool), Refused: refused, Chains: v.Chains(), Prices: priceRows(&offers),
		Doors: doorCards(&offers), NewKey: view.Copyable{
			ID: "new-key-command", What: "the command for a key", Text: "curl -X POST " + v.PublicURL + "/keys",
		},
		FirstCall: view.FirstCall(v.PublicURL), PerDay: plan.Must(plan.Door1).DailyQuota().Grouped(),
		KeysPerDay: keys.KeysPerDay,
	}
	if made != nil {
		p.Made = madeKeyOf(made)
		p.FirstCall.Text = strings.Replace(p.FirstCall.Text, view.KeyPlaceholder, made.Key, 1)
	}
	return v.Show(status, p)
}

func madeKeyOf(w *keys.Welcome) *madeKey {
	return &madeKey{
		Secret: view.Copyable{ID: "secret", What: "the API key", Text: w.Key, Wrap: true},
		ClaimCode: view.Copyable{
			ID: "claim-code", What: "the claim code", Text: w.Doorways["adopt"].ClaimCode,
			Wrap: true,
		},
		Prefix: w.KeyPrefix,
		Limits: view.Units(w.Fences.UnitsPerDay) + " a UTC day, " + view.Number(w.Fences.RequestsPerSecond) +
			" requests a second",
	}
}

// priceRows returns the prices on the home page: each plan that is free or on sale, and the largest
// pack.
func priceRows(l *advice.PlanList) []offerRow {
	var rows []offerRow
	for i := range l.Plans {
		r := planRowOf(&l.Plans[i])
		rows = append(rows, offerRow{
			Title: r.Title, Price: r.Price, Units: r.Units, PerMillion: r.PerMillion, Supply: r.Supply,
		})
	}
	if n := len(l.Packs); n > 0 {
		k := &l.Packs[n-1]
		rows = append(rows, offerRow{
			Title: "Pack " + strings.ToUpper(k.Size), Price: view.Dollars(plan.Cents(k.PriceCents)) + " once",
			Units: k.Units.Grouped(), PerMillion: view.Dollars(plan.Cents(k.PerMillion)), Supply: string(k.Supply),
		})
	}
	return rows
}

// doorCards returns the ways to get a key, the one with the fewest requirements first.
func doorCards(l *advice.PlanList) []doorCard {
	limits := func(key string) []view.Fact {
		//nolint:gocritic // read once for a page
		at := slices.IndexFunc(l.Plans, func(p advice.PlanOffer) bool { return p.Key == key })
		if at < 0 {
			return nil
		}
		r := planRowOf(&l.Plans[at])
		return []view.Fact{
			{Name: "Price", Value: r.Price},
			{Name: "Units", Value: r.Units},
			{Name: "Requests", Value: r.Rate},
			{Name: "Supply", Value: r.Supply},
		}
	}
	cards := []doorCard{
		{
			"Anonymous key", "A program makes it by one request. No name, no mail, no form.", limits(plan.Door1),
			view.Link{Text: "Make a key", To: "#first-key"},
		},
		{
			"Wallet-bound key", "The same key, once a wallet has signed a message for it. No transaction, no gas.",
			limits(plan.WalletBound),
			view.Link{Text: "How an agent binds it", To: "/skill.md"},
		},
		{
			"Account", "For people, by mail and without a card: several keys, caps, statements, plans and packs.",
			limits(plan.Free),
			view.Link{Text: "Sign in or sign up", To: "/sign-in"},
		},
	}
	pay := doorCard{
		Title: "Pay per call", Text: "A program pays in USDC on Base and calls with what it bought. No account.",
		Go: view.Link{Text: "How to pay", To: "/docs/pay-per-call"},
	}
	if tier, ok := plan.FindPerCallTier(plan.Balanced); ok {
		pay.Facts = []view.Fact{
			{Name: "Price", Value: fmt.Sprintf("%s USDC for %s", tier.NetAmountRequired().USDC(),
				view.Units(plan.UnitsPerPayment))},
			{Name: "Window", Value: view.Number(int64(plan.SettlementWindow.Minutes())) + " minutes"},
			{Name: "Supply", Value: string(tier.Supply)},
		}
	}
	if !l.PerCall.Live {
		pay.Text += " Not sold on the main network here today."
	}
	return append(cards, pay)
}

package console

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service"
)

const (
	// homeTool is the tool whose form is on the home page.
	homeTool = "get_gas"
	// pathFirstKey is where the button on the home page creates a key. POST /keys belongs to the
	// interface for programs.
	pathFirstKey = "/first-key"
)

// home shows the home page: what the service is, a button that creates a key, a tool to try, the
// state of the chains, and prices.
func (v *request) home() error { return v.showHome(http.StatusOK, nil, nil) }

// makeKey creates an anonymous key, within the limits of POST /keys. This answer is the only one
// that shows it.
func (v *request) makeKey() error {
	made, err := ask(v, v.Calls.GetKey, service.GetKeyInput{})
	if err != nil {
		f := fault.From(err)
		if f.Reason == fault.InternalFault {
			return err
		}
		v.retryAfter(f)
		card := refusalCard(f, v.request)
		return v.showHome(f.HTTP(), nil, &card)
	}
	return v.showHome(http.StatusCreated, &made, nil)
}

// showHome shows the home page with a new key, or with the reason why none was created.
func (v *request) showHome(status int, made *service.Welcome, refused *notice) error {
	if err := v.ensureCSRFCookie(); err != nil {
		return err
	}
	offers, err := v.offers()
	if err != nil {
		offers = service.PlanList{} // the rest of the page does not need them
	}
	p := homePage{
		Tool: v.liveTool(homeTool), Refused: refused, Chains: v.chainsView(), Prices: priceRows(&offers),
		Doors: v.doorCards(&offers), NewKey: copyable{
			ID: "new-key-command", What: "the command for a key", Text: "curl -X POST " + v.PublicURL + "/keys",
		},
		FirstCall: firstCall(v.PublicURL), PerDay: plan.Must(plan.Door1).DailyQuota().Grouped(),
		KeysPerDay: service.KeysPerDay,
	}
	if made != nil {
		p.Made = madeKeyOf(made)
		p.FirstCall.Text = strings.Replace(p.FirstCall.Text, keyPlaceholder, made.Key, 1)
	}
	return v.show(status, p)
}

func madeKeyOf(w *service.Welcome) *madeKey {
	return &madeKey{
		Secret:    copyable{ID: "secret", What: "the API key", Text: w.Key, Wrap: true},
		ClaimCode: copyable{ID: "claim-code", What: "the claim code", Text: w.Doorways["adopt"].ClaimCode, Wrap: true},
		Prefix:    w.KeyPrefix,
		Limits: units(w.Fences.UnitsPerDay) + " a UTC day, " + number(w.Fences.RequestsPerSecond) +
			" requests a second",
	}
}

// firstCall returns a command that works once a key is put in.
func firstCall(publicURL string) copyable {
	return copyable{
		ID: "first-call-command", What: "the command for a first call",
		Text: "curl " + publicURL + "/rpc/eth_mainnet \\\n" +
			"  -H 'Authorization: Bearer " + keyPlaceholder + "' \\\n" +
			"  -H 'Content-Type: application/json' \\\n" +
			`  -d '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}'`,
	}
}

// priceRows returns the prices on the home page: each plan that is free or on sale, and the largest
// pack.
func priceRows(l *service.PlanList) []offerRow {
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
			Title: "Pack " + strings.ToUpper(k.Size), Price: dollars(plan.Cents(k.PriceCents)) + " once",
			Units: k.Units.Grouped(), PerMillion: dollars(plan.Cents(k.PerMillion)), Supply: string(k.Supply),
		})
	}
	return rows
}

// doorCards returns the ways to get a key, the one with the fewest requirements first.
func (v *request) doorCards(l *service.PlanList) []doorCard {
	limits := func(key string) []fact {
		//nolint:gocritic // read once for a page
		at := slices.IndexFunc(l.Plans, func(p service.PlanOffer) bool { return p.Key == key })
		if at < 0 {
			return nil
		}
		r := planRowOf(&l.Plans[at])
		return []fact{{"Price", r.Price}, {"Units", r.Units}, {"Requests", r.Rate}, {"Supply", r.Supply}}
	}
	cards := []doorCard{
		{
			"Anonymous key", "A program makes it by one request. No name, no mail, no form.", limits(plan.Door1),
			link{"Make a key", "#first-key"},
		},
		{
			"Wallet-bound key", "The same key, once a wallet has signed a message for it. No transaction, no gas.",
			limits(plan.WalletBound),
			link{"How an agent binds it", "/skill.md"},
		},
		{
			"Account", "For people, by mail and without a card: several keys, caps, statements, plans and packs.",
			limits(plan.Free),
			link{"Sign in or sign up", "/sign-in"},
		},
	}
	pay := doorCard{
		Title: "Pay per call", Text: "A program pays in USDC on Base and calls with what it bought. No account.",
		Go: link{"How to pay", "/docs/pay-per-call"},
	}
	if tier, ok := plan.FindPerCallTier(plan.Balanced); ok {
		pay.Facts = []fact{
			{"Price", fmt.Sprintf("%s USDC for %s", tier.NetAmountRequired().USDC(), units(plan.UnitsPerPayment))},
			{"Window", number(int64(plan.SettlementWindow.Minutes())) + " minutes"},
			{"Supply", string(tier.Supply)},
		}
	}
	if !l.PerCall.Live {
		pay.Text += " Not sold on the main network here today."
	}
	return append(cards, pay)
}

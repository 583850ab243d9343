package home

import (
	"testing"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service/billing"
)

// samples are the pages of the home page and the prices; name is a text that somebody chose.
func samples(name string) map[string]view.Page {
	return map[string]view.Page{
		"home":      sampleHome(name, false),
		"home-made": sampleHome(name, true),
		"pricing":   samplePricing(name),
	}
}

// sampleHome is the home page, before and after a key was created.
func sampleHome(name string, made bool) homePage {
	offers := consoletest.SamplePlans()
	stand := consoletest.SampleStatus(name)
	chains := view.NewChains(&stand)
	p := homePage{
		Chains: &chains,
		Tool:   sampleTool(name), Prices: priceRows(&offers), Doors: doorCards(&offers),
		PerDay: "10,000", KeysPerDay: 3, NewKey: view.Copyable{
			ID: "new-key-command", What: "the command for a key", Text: "curl -X POST https://gateway.example/keys",
		},
		FirstCall: view.FirstCall("https://gateway.example"),
	}
	if made {
		w := consoletest.SampleWelcome()
		p.Made = madeKeyOf(&w)
	} else {
		card := view.RefusalCard(fault.New(fault.NewKeyQuota, "%s", name), "019a9f2e-1111-7000-8000-0000000000ff")
		p.Refused = &card
	}
	return p
}

func samplePricing(name string) *pricingPage {
	offers := consoletest.SamplePlans()
	calls := site.Calls{Tools: consoletest.Definitions(consoletest.Tools())}
	v := &site.Request{Site: &site.Site{Options: site.Options{Calls: calls}}}
	p := pricingPageOf(v, &offers)
	_, ladder, _ := consoletest.SampleBilling()
	p.Volume, p.Units = volumeField(name, name), "10,000,000"
	p.Ladder, p.Cheapest = view.LadderOf(&ladder, &billing.BillingStatus{}, false), view.Cheapest(&ladder)
	return p
}

func TestPages_KeepToTheRules(t *testing.T) {
	t.Parallel()
	consoletest.CheckSection(t, templates, samples)
}

// sampleTool is a tool that was run.
func sampleTool(name string) *view.Tool {
	return &view.Tool{
		Name: "get_gas", Title: "Get gas", About: "Tells what there is.", Cost: "1 unit", Kept: "kept for 12 s",
		Live: true, Method: "get", Token: "token", Curl: view.Copyable{
			ID: "get_gas-curl", What: "the command for: Get gas", Text: name, Wrap: true,
		},
		Inputs: []view.Input{{
			Field: view.Field{
				Name: "chain", Label: "Chain", Value: name, Rule: name, Prefix: "get_gas-",
				Required: true,
			},
			Kind: view.ChoiceKind, Options: []view.Option{{Value: name, Text: name, Chosen: true}},
			Place: view.InPath, JSONType: "string",
		}},
		Outcome: &view.Outcome{
			Title: name, Facts: "Answered in 3 ms.", Raw: name, Answer: &view.Value{Pairs: []view.Pair{{
				Name: name, About: name, Value: view.Value{Text: name},
			}}},
		},
		PublicURL: "https://gateway.example", Route: "/toolbox/gas/{chain}", RouteMethod: "GET",
	}
}

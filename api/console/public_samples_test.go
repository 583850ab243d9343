package console

import (
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service"
)

// maxVolume is the largest volume that can be priced.
const maxVolume = 1_000_000_000_000

func sampleWelcome() service.Welcome {
	return service.Welcome{
		Key: plaintext, KeyPrefix: "cag_aHCrXoRO", Door: account.DoorPublic,
		Fences:   service.DoorFences{UnitsPerDay: 10_000 * plan.Unit, RequestsPerSecond: 5},
		Doorways: map[string]service.Doorway{"adopt": {ClaimCode: "cagc_for-the-owner", Open: true}},
	}
}

func samplePlans() service.PlanList {
	yearly, ceiling := int64(990_00), 20_000_000*plan.Unit
	slow := service.RateOffer{Requests: 10, PerSeconds: 1}
	return service.PlanList{
		Plans: []service.PlanOffer{
			{
				Key: plan.Door1, Name: "Public key", Included: 10_000 * plan.Unit, Period: plan.Daily,
				Rate: service.RateOffer{Requests: 5, PerSeconds: 1}, Supply: plan.Public,
			},
			{
				Key: plan.WalletBound, Name: "Wallet-bound key", Included: 1_000_000 * plan.Unit, Period: plan.Monthly,
				Rate: service.RateOffer{Requests: 5, PerSeconds: 1}, Supply: plan.Public,
			},
			{
				Key: plan.Free, Name: "Free", Included: 1_000_000 * plan.Unit, Period: plan.Monthly,
				Rate: service.RateOffer{Requests: 100, PerSeconds: 900}, Supply: plan.Public,
			},
			{
				Key: plan.Builder, Name: "Builder", PriceCents: 12_00, Included: ceiling, Period: plan.Monthly,
				Rate: service.RateOffer{Requests: 30, PerSeconds: 1}, SoftCeiling: &ceiling, SoftRate: &slow,
				Supply: plan.Public, Data: true, PerMillion: 60,
			},
			{
				Key: plan.Pro, Name: "Pro", PriceCents: 99_00, YearlyCents: &yearly, Included: 15_000_000 * plan.Unit,
				Period: plan.Monthly, Rate: service.RateOffer{Requests: 6000, PerSeconds: 60}, Supply: plan.Premium,
				Data: true, PerMillion: 660,
			},
		},
		Packs: []service.PackOffer{
			{
				Key: "pack_s", Size: "s", PriceCents: 10_00, Units: 1_200_000 * plan.Unit, Supply: plan.Premium,
				PerMillion: 833,
			},
		},
		PerCall: service.PerCallOffer{
			Tiers: []service.PerCallTier{{Tier: plan.Balanced, PerMillion: 900, Supply: plan.Wholesale}},
		},
		Founding: service.FoundingOffer{
			Key: "founding", Plan: plan.Pro, PriceCents: 79_00, LockedMonths: 12,
			SeatsLeft: 42, EndsAt: plan.Founding().Ends, Open: true,
		},
		Tiers:        []service.TierOffer{{Tier: plan.Cheap, Multiplier: 500}, {Tier: plan.Fast, Multiplier: 2000}},
		Enterprise:   service.EnterpriseOffer{Text: "Custom volume, rate and dedicated capacity, by contract."},
		PaymentsLive: true,
	}
}

// sampleHome is the home page, before and after a key was created.
func sampleHome(name string, made bool) homePage {
	offers := samplePlans()
	v := &request{Pages: &Pages{Options: Options{PublicURL: "https://gateway.example"}}}
	stand := sampleStatus(name)
	chains := newChainsView(&stand)
	p := homePage{
		Chains: &chains,
		Tool:   &sampleToolbox(name).Groups[0].Tools[0], Prices: priceRows(&offers), Doors: v.doorCards(&offers),
		PerDay: "10,000", KeysPerDay: 3, NewKey: copyable{
			ID: "new-key-command", What: "the command for a key", Text: "curl -X POST https://gateway.example/keys",
		},
		FirstCall: firstCall("https://gateway.example"),
	}
	if made {
		w := sampleWelcome()
		p.Made = madeKeyOf(&w)
	} else {
		card := refusalCard(fault.New(fault.NewKeyQuota, "%s", name), "019a9f2e-1111-7000-8000-0000000000ff")
		p.Refused = &card
	}
	return p
}

func samplePricing(name string) *pricingPage {
	offers := samplePlans()
	v := &request{Pages: &Pages{Options: Options{Calls: Calls{Tools: definitions(fakeTools())}}}}
	p := v.pricingPage(&offers)
	_, ladder, _ := sampleBilling()
	p.Volume, p.Units = volumeField(name, name), "10,000,000"
	p.Ladder, p.Cheapest = ladderOf(&ladder, &service.BillingStatus{}, false), cheapest(&ladder)
	return p
}

package consoletest

import (
	"context"

	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/advice"
	"github.com/chainaccess/gateway/service/billing"
	"github.com/chainaccess/gateway/service/keys"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/payments"
	"github.com/chainaccess/gateway/service/status"
)

// maxVolume is the largest volume that can be priced.
const maxVolume = 1_000_000_000_000

// SampleWelcome returns the answer to a request for an anonymous key.
func SampleWelcome() keys.Welcome {
	return keys.Welcome{
		Key: Plaintext, KeyPrefix: "cag_aHCrXoRO", Door: account.DoorPublic,
		Fences:   keys.DoorFences{UnitsPerDay: 10_000 * plan.Unit, RequestsPerSecond: 5},
		Doorways: map[string]keys.Doorway{"adopt": {ClaimCode: "cagc_for-the-owner", Open: true}},
	}
}

// SamplePlans returns a price list with plans of every kind.
func SamplePlans() advice.PlanList {
	yearly, ceiling := int64(990_00), 20_000_000*plan.Unit
	slow := advice.RateOffer{Requests: 10, PerSeconds: 1}
	return advice.PlanList{
		Plans: []advice.PlanOffer{
			{
				Key: plan.Door1, Name: "Public key", Included: 10_000 * plan.Unit, Period: plan.Daily,
				Rate: advice.RateOffer{Requests: 5, PerSeconds: 1}, Supply: plan.Public,
			},
			{
				Key: plan.WalletBound, Name: "Wallet-bound key", Included: 1_000_000 * plan.Unit, Period: plan.Monthly,
				Rate: advice.RateOffer{Requests: 5, PerSeconds: 1}, Supply: plan.Public,
			},
			{
				Key: plan.Free, Name: "Free", Included: 1_000_000 * plan.Unit, Period: plan.Monthly,
				Rate: advice.RateOffer{Requests: 100, PerSeconds: 900}, Supply: plan.Public,
			},
			{
				Key: plan.Builder, Name: "Builder", PriceCents: 12_00, Included: ceiling, Period: plan.Monthly,
				Rate: advice.RateOffer{Requests: 30, PerSeconds: 1}, SoftCeiling: &ceiling, SoftRate: &slow,
				Supply: plan.Public, Data: true, PerMillion: 60,
			},
			{
				Key: plan.Pro, Name: "Pro", PriceCents: 99_00, YearlyCents: &yearly, Included: 15_000_000 * plan.Unit,
				Period: plan.Monthly, Rate: advice.RateOffer{Requests: 6000, PerSeconds: 60}, Supply: plan.Premium,
				Data: true, PerMillion: 660,
			},
		},
		Packs: []advice.PackOffer{
			{
				Key: "pack_s", Size: "s", PriceCents: 10_00, Units: 1_200_000 * plan.Unit, Supply: plan.Premium,
				PerMillion: 833,
			},
		},
		PerCall: advice.PerCallOffer{
			Tiers: []advice.PerCallTier{{Tier: plan.Balanced, PerMillion: 900, Supply: plan.Wholesale}},
		},
		Founding: advice.FoundingOffer{
			Key: "founding", Plan: plan.Pro, PriceCents: 79_00, LockedMonths: 12,
			SeatsLeft: 42, EndsAt: plan.Founding().Ends, Open: true,
		},
		Tiers:        []advice.TierOffer{{Tier: plan.Cheap, Multiplier: 500}, {Tier: plan.Fast, Multiplier: 2000}},
		Enterprise:   advice.EnterpriseOffer{Text: "Custom volume, rate and dedicated capacity, by contract."},
		PaymentsLive: true,
	}
}

// publicCalls adds the operations of public pages.
func (h *Operations) publicCalls(c *site.Calls) {
	c.GetStatus = func(context.Context, *operation.Caller, operation.Nothing) (status.Status, *fault.Error) {
		h.StatusAsked.Add(1)
		return SampleStatus("Ethereum"), h.StatusRefused
	}
	c.GetReceipt = func(_ context.Context, _ *operation.Caller,
		in payments.ReceiptInput,
	) (payments.Receipt, *fault.Error) {
		if in.TxHash != Receipt.TxHash {
			return payments.Receipt{}, fault.New(fault.NotYours, "No settlement has this hash.")
		}
		return Receipt, nil
	}
	c.GetKey = Record[keys.GetKeyInput](h, SampleWelcome())
	c.ListPlans = func(context.Context, *operation.Caller, operation.Nothing) (advice.PlanList, *fault.Error) {
		return SamplePlans(), nil
	}
	c.PriceVolume = func(_ context.Context, _ *operation.Caller,
		in advice.PriceVolumeInput,
	) (billing.PriceLadder, *fault.Error) {
		if in.Units > maxVolume {
			return billing.PriceLadder{}, fault.New(fault.FieldRefused,
				"units: takes at most 1,000,000,000,000.").With("field", "units")
		}
		l := h.ladder
		l.Volume, l.Current = plan.Units(in.Units)*plan.Unit, ""
		return l, nil
	}
}

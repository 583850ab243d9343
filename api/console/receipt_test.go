package console

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/service"
)

// receiptOf is the only receipt of the fake operations: two wallets paid, and a reorg removed one
// payment.
var receiptOf = service.Receipt{
	TxHash: "0x" + strings.Repeat("ab", 32), ChainID: 8453, Network: "base", Asset: "USDC",
	Seller: "Chain Access Gateway",
	Settlements: []service.SettledPayment{
		{
			Wallet: "0x11000000000000000000000000000000000000aa", State: x402.StageRedeemed,
			Finality: x402.FinalityFinal, StateText: "It is final.", AmountPaid: "108000", Amount: "0.108000",
			Block: &service.ReceiptBlock{Number: 4_800_017, Time: sampleNow},
			Tax: &service.ReceiptTax{
				Country: "DE", Percent: 20, Text: "The payer is in the EU (DE): 20 % VAT.", Net: "90000", VAT: "18000",
			},
			Bought: &service.ReceiptUnits{
				Tier: plan.Balanced, Units: 10_000 * plan.Unit, Used: 1_234_500, Remaining: 8_765_500,
				RedeemedAt: sampleNow, WindowEnds: sampleNow.Add(time.Hour),
			},
			History: []service.ReceiptLine{
				{At: sampleNow, Stage: x402.StageRedeemed, Words: "Redeemed for 10000 units."},
			},
		},
		{
			Wallet: "0x22000000000000000000000000000000000000bb", State: x402.StageReorganised,
			Finality: x402.FinalityGone, StateText: "The payment is gone.", AmountPaid: "99000000", Amount: "99.000000",
			Tax: &service.ReceiptTax{
				Country: "US", Text: "The payer is outside the EU (US): no VAT.", Net: "99000000", VAT: "0",
			},
			Bought: &service.ReceiptUnits{
				Tier: plan.Cheap, Units: plan.MaxUnitsPerSettlement, Capped: true, Expired: plan.MaxUnitsPerSettlement,
			},
			History: []service.ReceiptLine{
				{At: sampleNow, Stage: x402.StageReorganised, Words: "The transaction is no longer part of the chain."},
			},
		},
	},
}

func TestReceipt_IsPublicAndItsSumsAddUp(t *testing.T) {
	t.Parallel()
	for who, b := range map[string]*browser{
		"a visitor": visitorOf(t, newHouse()), "somebody signed in": personOf(t, newHouse()),
	} {
		got := b.get(pathReceipts + receiptOf.TxHash)
		if got.status != http.StatusOK || got.header.Get("X-Robots-Tag") != "noindex" {
			t.Errorf("%s: %d, robots %q", who, got.status, got.header.Get("X-Robots-Tag"))
		}
		shown := strings.Join(strings.Fields(text(parse(t, got.body))), " ")
		for _, part := range []string{
			"Net0.090000 VAT, 20 %0.018000 Paid0.108000", "Used1,234.5 Remaining8,765.5 Expired0 Bought10,000",
			"The payer is in the EU (DE): 20 % VAT.", "20 Nov 2026, 14:05 UTC", "reorganised away",
			"at most 200,000 units", "Net99.000000 VAT0.000000 Paid99.000000",
		} {
			if !strings.Contains(shown, part) {
				t.Errorf("%s is not shown %q: %s", who, part, shown)
			}
		}
	}
}

func TestReceipt_UnknownHashIsNotFound(t *testing.T) {
	t.Parallel()
	got := visitorOf(t, newHouse()).get(pathReceipts + "0x" + strings.Repeat("00", 32))
	if got.status != http.StatusNotFound || !strings.Contains(got.body, "There is no such receipt") {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestReceipt_SaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	for state, want := range map[x402.Stage]status{
		x402.StagePending: {warn, "not deep enough yet"}, x402.StageStuck: {warn, "waiting for the chain"},
		x402.StagePayable: {warn, "not redeemed yet"}, x402.StageRedeemed: {good, "redeemed, not final yet"},
		x402.StageReorganised: {bad, "reorganised away"},
	} {
		if got := paymentOf(&service.SettledPayment{State: state, Finality: x402.FinalityWaiting},
			"USDC"); got.Status != want || got.Amounts != nil || got.Units != nil {
			t.Errorf("%s: %+v", state, got)
		}
	}
}

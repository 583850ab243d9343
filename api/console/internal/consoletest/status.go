package consoletest

import (
	"strings"
	"time"

	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/payments"
	"github.com/chainaccess/gateway/service/status"
)

// Receipt is the only receipt of the fake operations: two wallets paid, and a reorg removed one
// payment.
var Receipt = payments.Receipt{
	TxHash: "0x" + strings.Repeat("ab", 32), ChainID: 8453, Network: "base", Asset: "USDC",
	Seller: "Chain Access Gateway",
	Settlements: []payments.SettledPayment{
		{
			Wallet: "0x11000000000000000000000000000000000000aa", State: x402.StageRedeemed,
			Finality: x402.FinalityFinal, StateText: "It is final.", AmountPaid: "108000", Amount: "0.108000",
			Block: &payments.ReceiptBlock{Number: 4_800_017, Time: Now},
			Tax: &payments.ReceiptTax{
				Country: "DE", Percent: 20, Text: "The payer is in the EU (DE): 20 % VAT.", Net: "90000", VAT: "18000",
			},
			Bought: &payments.ReceiptUnits{
				Tier: plan.Balanced, Units: 10_000 * plan.Unit, Used: 1_234_500, Remaining: 8_765_500,
				RedeemedAt: Now, WindowEnds: Now.Add(time.Hour),
			},
			History: []payments.ReceiptLine{
				{At: Now, Stage: x402.StageRedeemed, Words: "Redeemed for 10000 units."},
			},
		},
		{
			Wallet: "0x22000000000000000000000000000000000000bb", State: x402.StageReorganised,
			Finality: x402.FinalityGone, StateText: "The payment is gone.", AmountPaid: "99000000", Amount: "99.000000",
			Tax: &payments.ReceiptTax{
				Country: "US", Text: "The payer is outside the EU (US): no VAT.", Net: "99000000", VAT: "0",
			},
			Bought: &payments.ReceiptUnits{
				Tier: plan.Cheap, Units: plan.MaxUnitsPerSettlement, Capped: true, Expired: plan.MaxUnitsPerSettlement,
			},
			History: []payments.ReceiptLine{
				{At: Now, Stage: x402.StageReorganised, Words: "The transaction is no longer part of the chain."},
			},
		},
	},
}

// SampleStatus has four chains, one in each state; name is the title of the first.
func SampleStatus(name string) status.Status {
	head, half, limit, whole, part := uint64(23_812_334), 12.4, 148.0, 100.0, 99.37
	s := status.Status{State: chain.Down, Recorded: true, MadeAt: Now, Incidents: []status.IncidentView{
		{
			ID: "1", Chain: chain.ArbitrumOne, Title: "Arbitrum One", BeganAt: Now.Add(-12 * time.Minute),
			Seconds: 720,
		},
		{
			ID: "2", Chain: chain.EthMainnet, Title: name, BeganAt: Now.Add(-50 * time.Hour),
			EndedAt: new(Now.Add(-49 * time.Hour)), Seconds: 3600,
		},
	}}
	for i, c := range []status.ChainStatus{
		{
			Chain: chain.EthMainnet, Title: name, State: chain.Up, Head: &head, Upstreams: 3, Usable: 3, ProbeMS: &half,
			Uptime: &whole, LastHour: status.CallFigures{Calls: 1200, P50: &half, P95: &limit},
			LastDay: status.CallFigures{
				Calls: 88_012, Rerouted: 14, Lost: 3, Errors: new(0.0),
			},
		},
		{
			Chain: chain.BaseMainnet, Title: "Base", State: chain.Degraded, Why: "one_upstream_left", Head: &head,
			Upstreams: 3, Usable: 1, ProbeMS: &half, Uptime: &part,
		},
		{
			Chain: chain.ArbitrumOne, Title: "Arbitrum One", State: chain.Down, Why: "no_upstream", Upstreams: 2,
			Uptime: &part,
		},
		{Chain: chain.PolygonPoS, Title: "Polygon", State: chain.Unknown},
	} {
		for n := range status.StatusDays {
			d := status.StatusDay{
				Day:   Now.AddDate(0, 0, n+1-status.StatusDays).Format(time.DateOnly),
				State: chain.Unknown, Unknown: 86_400,
			}
			switch {
			case i == 3 || n < 30:
			case i == 2 && n == status.StatusDays-1:
				d.State, d.Up, d.Down, d.Unknown, d.Uptime = chain.Down, 50_000, 720, 0, &part
			case i == 1 && n%17 == 0:
				d.State, d.Up, d.Degraded, d.Unknown, d.Uptime = chain.Degraded, 80_000, 6_400, 0, &whole
			default:
				d.State, d.Up, d.Unknown, d.Uptime = chain.Up, 86_400, 0, &whole
			}
			c.Days = append(c.Days, d)
		}
		s.Chains = append(s.Chains, c)
	}
	return s
}

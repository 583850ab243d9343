package console

import (
	"net/http"
	"strconv"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/service"
)

const pathReceipts = "/x402/receipts/"

// receiptPage shows what was paid in a transaction, on screen and printed.
type receiptPage struct {
	Seller, Asset, Network string
	Tx, JSON               string
	Payments               []payment
}

func (receiptPage) head() head {
	return head{Template: "receipt", Title: "Receipt", Bare: true, Wide: true}
}

// payment is what one wallet paid.
type payment struct {
	ID, Wallet string
	Status     status
	Text       string
	Facts      []fact
	Amounts    *sum // nil until the chain was read
	Units      *sum // nil until it is redeemed
	Treatment  string
	History    []happening
}

// fact is a name with a value.
type fact struct{ Name, Value string }

// sum is a list of amounts with their total.
type sum struct {
	Title, Unit string // no unit when the title has it
	Lines       []fact
	Total       fact
	Note        string
}

// happening is a line of a history.
type happening struct {
	Machine, Exact string
	Words          string
}

// receipt shows a receipt. Its times are in UTC, because everybody who has the hash can read it.
func (v *request) receipt() error {
	v.w.Header().Set("X-Robots-Tag", "noindex")
	r, err := ask(v, v.Calls.GetReceipt, service.ReceiptInput{TxHash: v.r.PathValue("tx")})
	if refusedFor(err, fault.NotYours) {
		return &refusal{
			status: http.StatusNotFound, heading: "There is no such receipt", cause: err,
			text: "No payment with this hash was redeemed here. Check the hash. " +
				"If you made the payment, redeem it first, as the menu at " + v.PublicURL + "/x402 says.",
		}
	}
	if err != nil {
		return err
	}
	p := receiptPage{
		Seller: r.Seller, Asset: r.Asset, Network: networkTitle(r.Network, r.ChainID), Tx: r.TxHash,
		JSON: pathReceipts + r.TxHash + ".json",
	}
	for i := range r.Settlements {
		one := paymentOf(&r.Settlements[i], r.Asset)
		one.ID = "payment-" + strconv.Itoa(i+1)
		p.Payments = append(p.Payments, one)
	}
	return v.show(http.StatusOK, p)
}

func networkTitle(name string, id uint64) string {
	title := map[string]string{"base": "Base", "base-sepolia": "Base Sepolia"}[name]
	chainID := strconv.FormatUint(id, 10)
	if title == "" {
		return "chain " + chainID
	}
	return title + " (chain " + chainID + ")"
}

func paymentOf(s *service.SettledPayment, asset string) payment {
	p := payment{Wallet: s.Wallet, Status: paymentStatus(s), Text: s.StateText}
	if b := s.Block; b != nil {
		//nolint:gosec // block numbers are small
		p.Facts = append(p.Facts, fact{
			Name: "Paid", Value: utc(b.Time),
		}, fact{Name: "Block", Value: number(int64(b.Number))})
	}
	if u := s.Bought; u != nil {
		p.Facts = append(p.Facts, fact{Name: "Redeemed", Value: utc(u.RedeemedAt)},
			fact{Name: "Usable until", Value: utc(u.WindowEnds)}, fact{Name: "Tier", Value: string(u.Tier)})
		p.Units = unitsOf(u)
	}
	switch {
	case s.Tax != nil:
		p.Treatment = s.Tax.Text
		vat := "VAT"
		if s.Tax.Percent > 0 {
			vat = "VAT, " + number(s.Tax.Percent) + " %"
		}
		p.Amounts = &sum{
			Title: "Amount", Unit: asset, Total: fact{Name: "Paid", Value: s.Amount},
			Lines: []fact{{Name: "Net", Value: usdc(s.Tax.Net)}, {Name: vat, Value: usdc(s.Tax.VAT)}},
		}
	case s.Amount != "":
		p.Amounts = &sum{Title: "Amount", Unit: asset, Total: fact{Name: "Paid", Value: s.Amount}}
	}
	for _, line := range s.History {
		p.History = append(p.History, happening{
			Machine: line.At.UTC().Format(time.RFC3339), Exact: utc(line.At), Words: line.Words,
		})
	}
	return p
}

func unitsOf(u *service.ReceiptUnits) *sum {
	s := &sum{
		Title: "Units", Total: fact{Name: "Bought", Value: u.Units.Grouped()},
		Lines: []fact{
			{Name: "Used", Value: u.Used.Grouped()},
			{Name: "Remaining", Value: u.Remaining.Grouped()},
			{Name: "Expired", Value: u.Expired.Grouped()},
		},
	}
	if u.Capped {
		s.Note = "More was paid than one settlement can buy: at most " + plan.MaxUnitsPerSettlement.Grouped() +
			" units."
	}
	return s
}

func paymentStatus(s *service.SettledPayment) status {
	switch s.State {
	case x402.StageReorganised:
		return status{bad, "reorganised away"}
	case x402.StageStuck:
		return status{warn, "waiting for the chain"}
	case x402.StagePending, x402.StageReading:
		return status{warn, "not deep enough yet"}
	case x402.StagePayable:
		return status{warn, "not redeemed yet"}
	case x402.StageRefused:
		return status{bad, "refused"}
	case x402.StageRedeemed, x402.StageOver:
	}
	if s.Finality == x402.FinalityFinal {
		return status{good, "final"}
	}
	return status{good, "redeemed, not final yet"}
}

func utc(t time.Time) string { return t.UTC().Format(momentLayout) }

// usdc formats an amount in atomic units, which is a decimal number.
func usdc(atomic string) string {
	n, err := strconv.ParseInt(atomic, 10, 64)
	if err != nil {
		return atomic
	}
	return plan.Atomic(n).USDC()
}

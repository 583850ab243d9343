package public

import (
	"net/http"
	"strconv"
	"time"

	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/service/payments"
)

const pathReceipts = "/x402/receipts/"

// receiptPage shows what was paid in a transaction, on screen and printed.
type receiptPage struct {
	Seller, Asset, Network string
	Tx, JSON               string
	Payments               []payment
}

func (receiptPage) Head() view.Head {
	return view.Head{Template: "receipt", Title: "Receipt", Bare: true, Wide: true}
}

// payment is what one wallet paid.
type payment struct {
	ID, Wallet string
	Status     view.Status
	Text       string
	Facts      []view.Fact
	Amounts    *view.Sum // nil until the chain was read
	Units      *view.Sum // nil until it is redeemed
	Treatment  string
	History    []view.HistoryLine
}

// showReceipt shows a receipt. Its times are in UTC, because everybody who has the hash can read
// it.
func showReceipt(v *site.Request) error {
	v.W.Header().Set("X-Robots-Tag", "noindex")
	r, err := site.Ask(v, v.Calls.GetReceipt, payments.ReceiptInput{TxHash: v.R.PathValue("tx")})
	if site.RefusedFor(err, fault.NotYours) {
		return &site.PageError{
			Status: http.StatusNotFound, Heading: "There is no such receipt", Cause: err,
			Text: "No payment with this hash was redeemed here. Check the hash. " +
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
	return v.Show(http.StatusOK, p)
}

func networkTitle(name string, id uint64) string {
	title := map[string]string{"base": "Base", "base-sepolia": "Base Sepolia"}[name]
	chainID := strconv.FormatUint(id, 10)
	if title == "" {
		return "chain " + chainID
	}
	return title + " (chain " + chainID + ")"
}

func paymentOf(s *payments.SettledPayment, asset string) payment {
	p := payment{Wallet: s.Wallet, Status: paymentStatus(s), Text: s.StateText}
	if b := s.Block; b != nil {
		//nolint:gosec // block numbers are small
		p.Facts = append(p.Facts, view.Fact{
			Name: "Paid", Value: view.UTC(b.Time),
		}, view.Fact{Name: "Block", Value: view.Number(int64(b.Number))})
	}
	if u := s.Bought; u != nil {
		p.Facts = append(p.Facts, view.Fact{Name: "Redeemed", Value: view.UTC(u.RedeemedAt)},
			view.Fact{Name: "Usable until", Value: view.UTC(u.WindowEnds)},
			view.Fact{Name: "Tier", Value: string(u.Tier)})
		p.Units = unitsOf(u)
	}
	switch {
	case s.Tax != nil:
		p.Treatment = s.Tax.Text
		vat := "VAT"
		if s.Tax.Percent > 0 {
			vat = "VAT, " + view.Number(s.Tax.Percent) + " %"
		}
		p.Amounts = &view.Sum{
			Title: "Amount", Unit: asset, Total: view.Fact{Name: "Paid", Value: s.Amount},
			Lines: []view.Fact{{Name: "Net", Value: usdc(s.Tax.Net)}, {Name: vat, Value: usdc(s.Tax.VAT)}},
		}
	case s.Amount != "":
		p.Amounts = &view.Sum{Title: "Amount", Unit: asset, Total: view.Fact{Name: "Paid", Value: s.Amount}}
	}
	for _, line := range s.History {
		p.History = append(p.History, view.HistoryLine{
			Machine: line.At.UTC().Format(time.RFC3339), Exact: view.UTC(line.At), Words: line.Words,
		})
	}
	return p
}

func unitsOf(u *payments.ReceiptUnits) *view.Sum {
	s := &view.Sum{
		Title: "Units", Total: view.Fact{Name: "Bought", Value: u.Units.Grouped()},
		Lines: []view.Fact{
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

func paymentStatus(s *payments.SettledPayment) view.Status {
	switch s.State {
	case x402.StageReorganised:
		return view.Status{Tone: view.Bad, Text: "reorganised away"}
	case x402.StageStuck:
		return view.Status{Tone: view.Warn, Text: "waiting for the chain"}
	case x402.StagePending, x402.StageReading:
		return view.Status{Tone: view.Warn, Text: "not deep enough yet"}
	case x402.StagePayable:
		return view.Status{Tone: view.Warn, Text: "not redeemed yet"}
	case x402.StageRefused:
		return view.Status{Tone: view.Bad, Text: "refused"}
	case x402.StageRedeemed, x402.StageOver:
	}
	if s.Finality == x402.FinalityFinal {
		return view.Status{Tone: view.Good, Text: "final"}
	}
	return view.Status{Tone: view.Good, Text: "redeemed, not final yet"}
}

// usdc formats an amount in atomic units, which is a decimal number.
func usdc(atomic string) string {
	n, err := strconv.ParseInt(atomic, 10, 64)
	if err != nil {
		return atomic
	}
	return plan.Atomic(n).USDC()
}

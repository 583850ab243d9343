package payments

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store/paymentdb"
)

// ReceiptInput identifies a transaction.
type ReceiptInput struct {
	TxHash string `json:"tx_hash" pattern:"^0x[0-9a-fA-F]{64}$" doc:"the settlement's transaction, 0x and 64 hexadecimal digits"`
}

// Receipt is what was paid in a transaction and the state of each payment (docs/interface.md, 2.2).
// It contains no credential.
type Receipt struct {
	TxHash       string           `json:"tx_hash"`
	ChainID      uint64           `json:"chain_id" doc:"EIP-155 id of the chain that was paid on"`
	Network      string           `json:"network" doc:"that chain as the protocol names it" example:"base"`
	Asset        string           `json:"asset" example:"USDC"`
	AssetAddress string           `json:"asset_address"`
	Seller       string           `json:"seller"`
	Settlements  []SettledPayment `json:"settlements" doc:"one for each wallet that paid in the transaction, by address"`
}

// SettledPayment is the payment of one wallet.
type SettledPayment struct {
	Wallet     string        `json:"wallet" doc:"who paid: the sender of the transfers, with its checksum (EIP-55)"`
	State      x402.Stage    `json:"state" enum:"pending,stuck,payable,redeemed,over,reorganised" doc:"pending: not deep enough yet; stuck: the chain cannot be read; payable: may be redeemed; redeemed: its units can be used; over: its window is over; reorganised: no longer part of the chain, so its credential ended"`
	StateText  string        `json:"state_text" doc:"the same in a sentence"`
	Finality   x402.Finality `json:"finality,omitempty" enum:"waiting,final,gone" doc:"of a redeemed one: whether its transaction is part of the chain for good"`
	AmountPaid string        `json:"amount_paid,omitempty" doc:"atomic units, all transfers of the wallet together; absent while the chain was not read" example:"108000"`
	Amount     string        `json:"amount,omitempty" doc:"the same in USDC" example:"0.108000"`
	Block      *ReceiptBlock `json:"block,omitempty"`
	Tax        *ReceiptTax   `json:"tax,omitempty" doc:"absent until it is redeemed"`
	Bought     *ReceiptUnits `json:"bought,omitempty" doc:"absent until it is redeemed"`
	History    []ReceiptLine `json:"history" doc:"what happened, oldest first"`
}

// ReceiptBlock is the block of the transaction.
type ReceiptBlock struct {
	Number uint64    `json:"number"`
	Hash   string    `json:"hash"`
	Time   time.Time `json:"time"`
}

// ReceiptTax is how a payment was taxed. Net plus VAT equals what was paid.
type ReceiptTax struct {
	Country string `json:"country" doc:"ISO 3166-1 code that the tax went by; empty when the payer was not located"`
	Percent int64  `json:"vat_percent"`
	Text    string `json:"treatment"`
	Net     string `json:"net" doc:"atomic units"`
	VAT     string `json:"vat" doc:"atomic units"`
}

// ReceiptUnits is what was bought. Used, remaining and expired add up to units.
type ReceiptUnits struct {
	Tier       plan.Tier  `json:"tier"`
	Units      plan.Units `json:"units"`
	Capped     bool       `json:"capped" doc:"whether more was paid than a settlement may give units for"`
	Used       plan.Units `json:"used" doc:"as recorded; some seconds late"`
	Remaining  plan.Units `json:"remaining"`
	Expired    plan.Units `json:"expired" doc:"not used when the window or the credential ended"`
	RedeemedAt time.Time  `json:"redeemed_at"`
	WindowEnds time.Time  `json:"window_ends"`
}

// ReceiptLine is a line of a settlement's history.
type ReceiptLine struct {
	At    time.Time  `json:"at"`
	Stage x402.Stage `json:"stage"`
	Words string     `json:"words"`
}

// receiptLimit is the rate limit of receipts per network: each one is read from PostgreSQL.
var receiptLimit = account.RateWindow{Limit: 60, Per: time.Minute}

func (h *handlers) getReceipt() *operation.Operation[ReceiptInput, Receipt] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "get_receipt", Title: "The receipt of a payment", Access: operation.Everybody, Reads: true,
		Route: operation.Route{Method: http.MethodGet, Path: "/x402/receipts/{tx_hash}.json", Status: http.StatusOK},
		Description: "Gives seller, wallets, amounts, VAT, units and history of the settlements of a transaction, " +
			"one for each wallet that paid in it. It holds no credential and costs nothing; a network may ask 60 " +
			"times a minute. Without .json the same is a page for people.",
		Fails: []fault.Reason{fault.NotYours, fault.RateWindow, fault.MeterUnreachable, fault.DurableUnavailable},
	}, h.runReceipt)
}

func (h *handlers) runReceipt(ctx context.Context, c *operation.Call, in ReceiptInput) (Receipt, error) {
	if refusal := h.Limit(ctx, "receipts:"+c.Network.String(), receiptLimit); refusal != nil {
		return Receipt{}, refusal
	}
	tx, ok := x402.ParseTxHash(in.TxHash)
	if !ok { // the schema checked it
		return Receipt{}, fault.New(fault.FieldRefused, "tx_hash takes 0x and 64 hexadecimal digits.")
	}
	t := h.Terms
	all, err := h.Store.ListSettlementsOf(ctx, t.Chain, tx)
	if err != nil {
		return Receipt{}, operation.RecordUnavailable(err)
	}
	paid := anyPaid(all)
	all = slices.DeleteFunc(all, func(s paymentdb.Settlement) bool {
		// next to a payment that was seen, one that was not is a stranger's attempt
		return s.Stage == x402.StageReading || s.Stage == x402.StageRefused || (paid && s.Found.Paid == 0)
	})
	if len(all) == 0 {
		return Receipt{}, fault.New(fault.NotYours,
			"No settlement has this hash. Check it, or redeem the payment first: the menu at %s says how.",
			x402.MenuPath)
	}
	r := Receipt{
		TxHash: tx.String(), ChainID: t.Chain, Network: t.Network(x402.Version1), Asset: plan.X402Asset,
		AssetAddress: t.Asset.Checksummed(), Seller: t.Service,
	}
	for i := range all {
		paid, err := h.settledPayment(ctx, &all[i])
		if err != nil {
			return Receipt{}, operation.RecordUnavailable(err)
		}
		r.Settlements = append(r.Settlements, paid)
	}
	return r, nil
}

func (h *handlers) settledPayment(ctx context.Context, s *paymentdb.Settlement) (SettledPayment, error) {
	p := SettledPayment{
		Wallet: s.Payer.Checksummed(), State: s.Stage, Finality: s.Finality, StateText: h.stateText(s),
		History: []ReceiptLine{},
	}
	if s.Found != (x402.Finding{}) {
		p.AmountPaid, p.Amount = atomic(s.Found.Paid), s.Found.Paid.USDC()
	}
	if !s.Found.BlockHash.IsZero() {
		p.Block = &ReceiptBlock{
			Number: s.Found.Block, Hash: s.Found.BlockHash.String(), Time: time.Unix(s.Found.Time, 0).UTC(),
		}
	}
	if s.Redeemed() {
		d := s.Deal
		p.Tax = &ReceiptTax{Country: d.Country, Text: treatment(&d), Net: atomic(d.Net), VAT: atomic(d.VAT)}
		if plan.VATApplies(d.Country) {
			p.Tax.Percent = plan.VATPercent
		}
		used, err := h.Store.SettlementUsage(ctx, s)
		if err != nil {
			return p, err
		}
		p.Bought = &ReceiptUnits{
			Tier: d.Tier, Units: d.Units, Capped: d.Capped, Used: used, RedeemedAt: s.RedeemedAt.Truncate(time.Second),
			WindowEnds: s.WindowEnds.Truncate(time.Second),
		}
		if left := max(d.Units-used, 0); h.usable(s) {
			p.Bought.Remaining = left
		} else {
			p.Bought.Expired = left
		}
	}
	lines, err := h.Store.SettlementHistory(ctx, s.ID)
	for _, e := range lines {
		p.History = append(p.History, ReceiptLine{At: e.At.Truncate(time.Second), Stage: e.Stage, Words: e.Words})
	}
	return p, err
}

// usable reports whether a redeemed settlement's units can be used.
func (h *handlers) usable(s *paymentdb.Settlement) bool {
	return s.Stage == x402.StageRedeemed && h.Now().Before(s.WindowEnds)
}

// treatment explains how a payment was taxed.
func treatment(d *x402.Deal) string {
	switch {
	case d.Country == "":
		return fmt.Sprintf("The payer was not located: %d %% VAT, as in the EU.", plan.VATPercent)
	case plan.VATApplies(d.Country):
		return fmt.Sprintf("The payer is in the EU (%s): %d %% VAT.", d.Country, plan.VATPercent)
	default:
		return fmt.Sprintf("The payer is outside the EU (%s): no VAT.", d.Country)
	}
}

// stateText explains the state of a settlement and what the payer can do.
func (h *handlers) stateText(s *paymentdb.Settlement) string {
	switch s.Stage {
	case x402.StagePending:
		return "The transaction is not deep enough in the chain yet. No units were granted; redeem it again in a " +
			"little while."
	case x402.StageStuck:
		return "The chain cannot be read right now. No units were granted and nothing is lost: it is tried again by " +
			"itself, and can then be redeemed."
	case x402.StagePayable:
		return "The payment was read and is good. No units were granted yet: its wallet can redeem it."
	case x402.StageReorganised:
		return "The transaction is no longer part of the chain, so the payment is gone and the credential ended."
	case x402.StageRedeemed, x402.StageOver:
	case x402.StageReading, x402.StageRefused: // no receipt
	}
	words := "Its units can be used until the window ends."
	if !h.usable(s) {
		words = "Its window is over."
	}
	if s.Finality == x402.FinalityFinal {
		return words + " The transaction is part of the chain for good."
	}
	return words + " The transaction is in the chain and not final yet: it is looked at again."
}

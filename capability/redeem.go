package capability

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"time"

	"github.com/chainaccess/gateway/account"
	"github.com/chainaccess/gateway/fault"
	"github.com/chainaccess/gateway/plan"
	"github.com/chainaccess/gateway/wallet"
	"github.com/chainaccess/gateway/x402"
)

// RedeemInput names a payment and proves who made it.
type RedeemInput struct {
	TxHash    string    `json:"tx_hash" pattern:"^0x[0-9a-fA-F]{64}$" doc:"the transfer's transaction, 0x and 64 hexadecimal digits" example:"0x7a1f2e3d4c5b6a798897a6b5c4d3e2f10f1e2d3c4b5a69788796a5b4c3d2e1f0"`
	Tier      plan.Tier `json:"tier" enum:"cheap,balanced,fast" doc:"tier of the menu that the units are bought on; the first successful redeem fixes it"`
	Signature string    `json:"signature" minLength:"2" maxLength:"16386" doc:"the signature of messageToSign by the wallet that paid (personal_sign), 0x and hexadecimal digits; a contract wallet's may have any length"`
}

// Redeemed is a credential for what was paid, or that it is too early for one.
type Redeemed struct {
	Status     string      `json:"status" enum:"redeemed,pending" doc:"pending comes with HTTP 202: redeem again with the same body after Retry-After seconds"`
	TxHash     string      `json:"tx_hash" doc:"in lower case"`
	Credential string      `json:"credential,omitempty" doc:"cagx_ and 49 letters and digits, shown here and never again; send it in X-PAYMENT with calls to /rpc/{chain}"`
	Units      *plan.Units `json:"units,omitempty" doc:"weighted units that are left"`
	Tier       plan.Tier   `json:"tier,omitempty" doc:"that every call of the credential has, whatever this redeem asked for"`
	ExpiresAt  *time.Time  `json:"expires_at,omitempty" doc:"when the window ends; redeeming again does not move it"`
	Receipt    string      `json:"receipt,omitempty" format:"uri" doc:"where the receipt is"`
	Note       string      `json:"note"`

	later time.Duration
}

// ComeAgain is when to ask again for what is not there yet; 0 when it is.
func (r Redeemed) ComeAgain() time.Duration { return r.later } //nolint:gocritic // answers go by value

// statusRedeemed and statusPending are the words of Redeemed.Status.
const (
	statusRedeemed = "redeemed"
	statusPending  = "pending"
)

// How often redeems are let through: those of a network, which look into the record, those of them that ask the chain, those of them that begin a flow though the chain cannot be read,
// and those of one settlement that was redeemed before.
var (
	lookLimit   = account.RateWindow{Limit: 240, Per: time.Minute}
	redeemLimit = account.RateWindow{Limit: 30, Per: time.Minute}
	stuckLimit  = account.RateWindow{Limit: 10, Per: time.Hour}
	againLimit  = account.RateWindow{Limit: 120, Per: time.Minute}
)

func (h *house) redeemPayment() *Op[RedeemInput, Redeemed] {
	return define(h, Meta{
		Name: "redeem_payment", Title: "Redeem a payment for a credential", Access: Everybody, Pends: true,
		Route: Route{http.MethodPost, "/x402/redeem", http.StatusOK},
		Description: "Gives the wallet that paid against the menu a credential for the units that it bought. Anybody may try; only the payer's own redeem counts, and the " +
			"first one fixes tier, tax country and window. While the transfer is not deep enough it answers 202: send the same again after Retry-After. " +
			"Redeeming again within the window gives a fresh credential for the units that are left and ends the one before. Costs nothing.",
		Fails: []fault.Reason{
			fault.PaymentRequired, fault.SettlementRedeemed, fault.SettlementOver, fault.NoUpstream, fault.NotYetInForce, fault.DurableUnavailable,
			fault.RateWindow, fault.MeterUnreachable,
		},
	}, h.runRedeem)
}

// redeeming is one redeem on its way.
type redeeming struct {
	tx        x402.TxHash
	tier      plan.Tier
	country   string
	network   string
	message   string
	signature string
	signer    wallet.Address // whose key signed; zero when no key did, which leaves contract wallets
}

// redeemKey names redeems that are the same.
type redeemKey struct {
	tx        x402.TxHash
	tier      plan.Tier
	signature [sha256.Size]byte
}

// redeemLanding is what a redeem came to, for those who sent the same at the same time.
type redeemLanding struct {
	answer Redeemed
	err    error
}

// runRedeem has redeems that are the same share one way: a flow takes ten at a time, and each would end the credential of the one before.
func (h *house) runRedeem(ctx context.Context, c *Call, in RedeemInput) (Redeemed, error) {
	r, err := h.redeemOf(c, &in)
	if err != nil {
		return Redeemed{}, err
	}
	flight, leads := h.redeems.Join(redeemKey{r.tx, r.tier, sha256.Sum256([]byte(in.Signature))})
	if !leads {
		if landed, ok := flight.Wait(ctx, deadline); ok {
			return landed.answer, landed.err
		}
		return Redeemed{}, stillRedeeming(ctx.Err())
	}
	shared, end := flight.Lead(ctx)
	defer end()
	landed := redeemLanding{err: stillRedeeming(nil)} // what followers are told should it panic
	defer flight.Land(func() redeemLanding { return landed })
	landed.answer, landed.err = h.redeem(shared, r)
	return landed.answer, landed.err
}

func stillRedeeming(cause error) *fault.Error {
	f := fault.New(fault.DurableUnavailable, "The redeem is still under way and goes on by itself. Send the same again in some seconds.")
	f.RetryAfter = retryRedeem
	return f.Wrap(cause)
}

const retryRedeem = 5 * time.Second

// redeemOf checks what a signature says by itself.
func (h *house) redeemOf(c *Call, in *RedeemInput) (*redeeming, error) {
	r := &redeeming{tier: in.Tier, country: c.country(), network: c.Network.String(), signature: in.Signature}
	r.tx, _ = x402.ParseTxHash(in.TxHash) // the schema let it through
	r.message = h.Terms.Message(r.tx)
	raw, err := wallet.DecodeSignature(in.Signature)
	if err != nil {
		return nil, wrongSignature(err)
	}
	r.signer, err = wallet.RecoverHash(wallet.TextHash(r.message), raw)
	if errors.Is(err, wallet.ErrSignatureMalleable) {
		return nil, wrongSignature(err)
	}
	return r, nil // what no key made may be a contract wallet's
}

func wrongSignature(err error) error {
	refusal := fault.From(wallet.Refuse(fault.FieldRefused, err))
	return refusal.With("field", "signature")
}

// redeem looks in the record first: what was redeemed once needs neither the chain nor a flow.
func (h *house) redeem(ctx context.Context, r *redeeming) (Redeemed, error) {
	if refusal := h.limit(ctx, "redeem-look:"+r.network, lookLimit); refusal != nil {
		return Redeemed{}, refusal
	}
	known, err := h.Store.ListSettlementsOf(ctx, h.Terms.Chain, r.tx)
	if err != nil {
		return Redeemed{}, recordAway(err)
	}
	for i := range known {
		if known[i].Redeemed() && known[i].Payer == r.signer {
			return h.redeemAgain(ctx, &known[i])
		}
	}
	if refusal := h.limit(ctx, "redeem:"+r.network, redeemLimit); refusal != nil {
		return Redeemed{}, refusal
	}
	if h.Payments == nil || !h.Terms.Open() {
		return Redeemed{}, fault.New(fault.DurableUnavailable, "Nothing is sold per call here today, so nothing can be redeemed. GET /x402 says when that changes; pay nothing until then.")
	}
	if s := h.redeemedBy(ctx, r, known); s != nil {
		return h.redeemAgain(ctx, s)
	}
	return h.redeemFirst(ctx, r, known)
}

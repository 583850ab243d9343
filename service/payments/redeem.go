package payments

import (
	"context"
	"crypto/sha256"
	"net/http"
	"net/netip"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/netlimit"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/relay/cache"
	"github.com/chainaccess/gateway/service/operation"
)

// RedeemInput identifies a payment and proves who made it.
type RedeemInput struct {
	TxHash    string    `json:"tx_hash" pattern:"^0x[0-9a-fA-F]{64}$" doc:"the transfer's transaction, 0x and 64 hexadecimal digits" example:"0x7a1f2e3d4c5b6a798897a6b5c4d3e2f10f1e2d3c4b5a69788796a5b4c3d2e1f0"`
	Tier      plan.Tier `json:"tier" enum:"cheap,balanced,fast" doc:"tier of the menu that the units are bought on; the first successful redeem fixes it"`
	Signature string    `json:"signature" minLength:"2" maxLength:"16386" doc:"the signature of messageToSign by the wallet that paid (personal_sign), 0x and hexadecimal digits; a contract wallet's may have any length"`
	IssuedAt  string    `json:"issued_at,omitempty" minLength:"20" maxLength:"20" doc:"time of the message, when it is another than the menu's: RFC 3339 in UTC to the second. Absent: the times that the menu had are tried" example:"2026-11-23T12:40:00Z"`
}

// Redeemed is a credential for a payment, or the status pending.
type Redeemed struct {
	Status     string      `json:"status" enum:"redeemed,pending" doc:"pending comes with HTTP 202: redeem again with the same body after Retry-After seconds"`
	TxHash     string      `json:"tx_hash" doc:"in lower case"`
	Credential string      `json:"credential,omitempty" doc:"cagx_ and 49 letters and digits, shown here and in the answers to redeems that come at once, and never later; send it in X-PAYMENT with calls to /rpc/{chain}"`
	Units      *plan.Units `json:"units,omitempty" doc:"weighted units that are left"`
	Tier       plan.Tier   `json:"tier,omitempty" doc:"that every call of the credential has, whatever this redeem asked for"`
	ExpiresAt  *time.Time  `json:"expires_at,omitempty" doc:"when the window ends; redeeming again does not move it"`
	Receipt    string      `json:"receipt,omitempty" format:"uri" doc:"where the receipt is"`
	Note       string      `json:"note"`

	later time.Duration
}

// ComeAgain returns when to retry if the payment is pending, otherwise 0.
func (r Redeemed) ComeAgain() time.Duration { return r.later } //nolint:gocritic // answers go by value

// statusRedeemed and statusPending are the values of Redeemed.Status.
const (
	statusRedeemed = "redeemed"
	statusPending  = "pending"
)

// againLimit is the rate limit, per settlement, of redeeming again. Package netlimit limits redeems
// per network.
var againLimit = account.RateWindow{Limit: 120, Per: time.Minute}

func (h *handlers) redeemPayment() *operation.Operation[RedeemInput, Redeemed] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "redeem_payment", Title: "Redeem a payment for a credential", Access: operation.Everybody, Pends: true,
		Route: operation.Route{Method: http.MethodPost, Path: "/x402/redeem", Status: http.StatusOK},
		Description: "Gives the wallet that paid against the menu a credential for the units that it bought. Anybody " +
			"may try; only the payer's own redeem counts, and the first one fixes tier, tax country and window. " +
			"While the transfer is not deep enough it answers 202: send the same again after Retry-After. Redeeming " +
			"again within the window gives a fresh credential for the units that are left and ends the one before; " +
			"redeems that come at once are given the same one. Costs nothing.",
		Fails: []fault.Reason{
			fault.PaymentRequired, fault.SettlementRedeemed, fault.SettlementOver, fault.NoUpstream,
			fault.NotYetInForce, fault.DurableUnavailable, fault.RateWindow, fault.MeterUnreachable,
		},
	}, h.runRedeem)
}

// redeeming is one redeem in progress.
type redeeming struct {
	tx        x402.TxHash
	tier      plan.Tier
	country   string
	network   netip.Prefix
	request   uuid.UUID
	asked     time.Time // when the request arrived
	signature string
	raw       []byte
	signed    []signing // messages that may have been signed; the first is the default
	partly    bool      // contract wallets were asked about only some of the messages
}

// credentialYouth is how long further redeems of the payer get the same credential while no call
// has used it: as long as a request may take. So programs of one payer that redeem concurrently, or
// retry after a lost response, do not invalidate each other's credential.
const credentialYouth = operation.Deadline

// redeemKey identifies identical redeems.
type redeemKey struct {
	tx        x402.TxHash
	tier      plan.Tier
	signature [sha256.Size]byte
	issued    string
}

// redeemResult is the result of a redeem, shared by identical concurrent requests.
type redeemResult struct {
	answer Redeemed
	err    error
}

// payerKey identifies redeems of one authenticated payer. The tier is set only for a first redeem.
type payerKey struct {
	settlement x402.ID
	tier       plan.Tier
}

// runRedeem deduplicates identical concurrent redeems.
func (h *handlers) runRedeem(ctx context.Context, c *operation.Call, in RedeemInput) (Redeemed, error) {
	r, err := h.redeemOf(c, &in)
	if err != nil {
		return Redeemed{}, err
	}
	key := redeemKey{r.tx, r.tier, sha256.Sum256([]byte(in.Signature)), in.IssuedAt}
	return shareRedeem(ctx, &h.redeems, key, func(ctx context.Context) (Redeemed, error) { return h.redeem(ctx, r) })
}

// shareRedeem runs way once for all concurrent redeems with the same key. They share its result.
func shareRedeem[K comparable](
	ctx context.Context, under *cache.Group[K, redeemResult], key K, way func(context.Context) (Redeemed, error),
) (Redeemed, error) {
	flight, leads := under.Join(key)
	if !leads {
		if landed, ok := flight.Wait(ctx, operation.Deadline); ok {
			return landed.answer, landed.err
		}
		return Redeemed{}, stillRedeeming(ctx.Err())
	}
	shared, end := flight.Start(ctx)
	defer end()
	landed := redeemResult{err: stillRedeeming(nil)} // what followers get if way panics
	defer flight.Finish(func() redeemResult { return landed })
	landed.answer, landed.err = way(shared)
	return landed.answer, landed.err
}

func stillRedeeming(cause error) *fault.Error {
	f := fault.New(fault.DurableUnavailable,
		"The redeem is still under way and goes on by itself. Send the same again in some seconds.")
	f.RetryAfter = retryRedeem
	return f.Wrap(cause)
}

const retryRedeem = 5 * time.Second

// redeemOf parses the input and recovers the signer of the message that it names.
func (h *handlers) redeemOf(c *operation.Call, in *RedeemInput) (*redeeming, error) {
	r := &redeeming{
		tier: in.Tier, country: c.CountryCode(), network: c.Network, request: c.RequestID, asked: c.Started,
		signature: in.Signature,
	}
	r.tx, _ = x402.ParseTxHash(in.TxHash) // the schema accepted it
	var err error
	if r.raw, err = wallet.DecodeSignature(in.Signature); err != nil {
		return nil, wrongSignature(err)
	}
	if r.signed, err = h.firstSigning(r.tx, in.IssuedAt); err != nil {
		return nil, err
	}
	return r, r.recoverFrom(0)
}

func wrongSignature(err error) *fault.Error {
	refusal := fault.From(wallet.Refuse(fault.FieldRefused, err))
	return refusal.With("field", "signature")
}

// redeem checks PostgreSQL first: what was redeemed before needs neither the chain nor a workflow.
func (h *handlers) redeem(ctx context.Context, r *redeeming) (Redeemed, error) {
	if refusal := h.LimitNetwork(ctx, r.network, netlimit.RedeemLooks); refusal != nil {
		return Redeemed{}, refusal
	}
	if err := h.addMenuSignings(r); err != nil {
		return Redeemed{}, err
	}
	known, err := h.Store.ListSettlementsOf(ctx, h.Terms.Chain, r.tx)
	if err != nil {
		return Redeemed{}, operation.RecordUnavailable(err)
	}
	for i := range known {
		if by := r.by(known[i].Payer); known[i].Redeemed() && by != nil {
			return h.redeemSigned(ctx, r, by, &known[i])
		}
	}
	if refusal := h.LimitNetwork(ctx, r.network, netlimit.Redeems); refusal != nil {
		return Redeemed{}, refusal
	}
	if h.Payments == nil || !h.Terms.Open() {
		return Redeemed{}, fault.New(fault.DurableUnavailable,
			"Nothing is sold per call here today, so nothing can be redeemed. GET /x402 says when that changes; pay "+
				"nothing until then.")
	}
	if s, by, err := h.redeemedBy(ctx, r, known); err != nil {
		return Redeemed{}, err
	} else if s != nil {
		return h.redeemSigned(ctx, r, by, s)
	}
	return h.redeemFirst(ctx, r, known)
}

package x402

import (
	"encoding/json"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/metering/plan"
)

// Versions of the protocol.
const (
	Version1 = 1
	Version2 = 2
)

// Headers of version 1. Their values are base64-encoded JSON. The requirements are in the response
// body.
const (
	PaymentV1Header  = "X-PAYMENT"
	ReceiptV1Header  = "X-PAYMENT-RESPONSE"
	contentType      = "application/json"
	wrongFieldPrefix = "The payment's "
)

// RequiredV1 is the body of a 402 in version 1.
type RequiredV1 struct {
	Version int             `json:"x402Version" doc:"1"`
	Error   string          `json:"error" doc:"why payment is required, and what to do"`
	Accepts []RequirementV1 `json:"accepts" doc:"one for each tier; the tier of X-Route-Tier first, else the cheapest"`
}

// RequirementV1 is one way to pay in version 1. Facilitators take it in this form, too.
type RequirementV1 struct {
	Scheme            string         `json:"scheme" doc:"exact"`
	Network           string         `json:"network"`
	MaxAmountRequired string         `json:"maxAmountRequired" doc:"atomic units of the asset, VAT included where it applies"`
	Resource          string         `json:"resource"`
	Description       string         `json:"description"`
	MimeType          string         `json:"mimeType"`
	PayTo             wallet.Address `json:"payTo"`
	MaxTimeoutSeconds int64          `json:"maxTimeoutSeconds"`
	Asset             wallet.Address `json:"asset"`
	Extra             Extra          `json:"extra"`
}

// Extra is what a payer needs to sign for the asset (EIP-712), and the tier of the amount.
type Extra struct {
	Name    string    `json:"name"`
	Version string    `json:"version"`
	Tier    plan.Tier `json:"tier"`
}

func (q *Quote) extra(o Offer) Extra { return Extra{q.Token.Name, q.Token.Version, o.Tier.Tier} }

// V1 returns the quote as the body of a 402 in version 1.
func (q *Quote) V1(why string) RequiredV1 {
	r := RequiredV1{Version: Version1, Error: why, Accepts: make([]RequirementV1, len(q.Offers))}
	for i, o := range q.Offers {
		r.Accepts[i] = q.requirementV1(o)
	}
	return r
}

func (q *Quote) requirementV1(o Offer) RequirementV1 {
	return RequirementV1{
		Scheme: plan.X402Scheme, Network: q.Terms.networkV1(), MaxAmountRequired: o.amount(), Resource: q.Resource,
		Description: o.description(), MimeType: contentType, PayTo: q.Terms.PayTo, MaxTimeoutSeconds: maxTimeoutSeconds,
		Asset: q.Terms.Asset, Extra: q.extra(o),
	}
}

// payloadV1 is the content of X-PAYMENT.
type payloadV1 struct {
	Version int       `json:"x402Version"`
	Scheme  string    `json:"scheme"`
	Network string    `json:"network"`
	Payload wireExact `json:"payload"`
}

func (q *Quote) readV1(document []byte) (a Authorization, o Offer, wrong string) {
	var p payloadV1
	if err := json.Unmarshal(document, &p); err != nil {
		return a, o, wrongFieldPrefix + "JSON does not have the form of version 1."
	}
	switch {
	case p.Version != Version1:
		return a, o, wrongFieldPrefix + "x402Version takes 1 in X-PAYMENT; version 2 goes into PAYMENT-SIGNATURE."
	case p.Scheme != plan.X402Scheme:
		return a, o, wrongFieldPrefix + "scheme takes exact."
	case p.Network != q.Terms.networkV1():
		return a, o, wrongFieldPrefix + "network takes " + q.Terms.networkV1() + "."
	}
	if a, wrong = p.Payload.read(); wrong != "" {
		return a, o, wrong
	}
	o, wrong = q.Meant(a.Value)
	return a, o, wrong
}

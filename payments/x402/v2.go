package x402

import (
	"encoding/json"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/metering/plan"
)

// Headers of version 2. Their values are base64-encoded JSON.
const (
	RequiredV2Header = "PAYMENT-REQUIRED"
	PaymentV2Header  = "PAYMENT-SIGNATURE"
	ReceiptV2Header  = "PAYMENT-RESPONSE"
)

// requiredV2 is the content of PAYMENT-REQUIRED.
type requiredV2 struct {
	Version  int             `json:"x402Version"`
	Error    string          `json:"error"`
	Resource resourceV2      `json:"resource"`
	Accepts  []RequirementV2 `json:"accepts"`
}

type resourceV2 struct {
	URL         string `json:"url"`
	Description string `json:"description"`
	MimeType    string `json:"mimeType"`
}

// RequirementV2 is one way to pay in version 2. Facilitators take it in this form, too.
type RequirementV2 struct {
	Scheme            string         `json:"scheme"`
	Network           string         `json:"network"`
	Amount            string         `json:"amount"`
	Asset             wallet.Address `json:"asset"`
	PayTo             wallet.Address `json:"payTo"`
	MaxTimeoutSeconds int64          `json:"maxTimeoutSeconds"`
	Extra             Extra          `json:"extra"`
}

// V2 returns the quote as the value of the header PAYMENT-REQUIRED.
func (q *Quote) V2(why string) string {
	r := requiredV2{
		Version: Version2, Error: why, Resource: q.resourceV2(q.Offers[0]),
		Accepts: make([]RequirementV2, len(q.Offers)),
	}
	for i, o := range q.Offers {
		r.Accepts[i] = q.requirementV2(o)
	}
	return inBase64(r)
}

func (q *Quote) resourceV2(o Offer) resourceV2 {
	return resourceV2{q.Resource, o.description(), contentType}
}

func (q *Quote) requirementV2(o Offer) RequirementV2 {
	return RequirementV2{
		Scheme: plan.X402Scheme, Network: q.Terms.caip2(), Amount: o.amount(), Asset: q.Terms.Asset,
		PayTo: q.Terms.PayTo, MaxTimeoutSeconds: maxTimeoutSeconds, Extra: q.extra(o),
	}
}

// payloadV2 is the content of PAYMENT-SIGNATURE. Only the fields of Accepted that distinguish
// offers are read. The requirements themselves are the seller's.
type payloadV2 struct {
	Version  int        `json:"x402Version"`
	Accepted acceptedV2 `json:"accepted"`
	Payload  wireExact  `json:"payload"`
}

type acceptedV2 struct {
	Scheme  string         `json:"scheme"`
	Network string         `json:"network"`
	Asset   wallet.Address `json:"asset"`
	Amount  string         `json:"amount"`
	Extra   struct {
		Tier plan.Tier `json:"tier"`
	} `json:"extra"`
}

func (q *Quote) readV2(document []byte) (a Authorization, o Offer, wrong string) {
	var p payloadV2
	if err := json.Unmarshal(document, &p); err != nil {
		return a, o, wrongFieldPrefix + "JSON does not have the form of version 2."
	}
	switch {
	case p.Version != Version2:
		return a, o, wrongFieldPrefix + "x402Version takes 2 in PAYMENT-SIGNATURE; version 1 goes into X-PAYMENT."
	case p.Accepted.Scheme != plan.X402Scheme:
		return a, o, wrongFieldPrefix + "accepted.scheme takes exact."
	case p.Accepted.Network != q.Terms.caip2():
		return a, o, wrongFieldPrefix + "accepted.network takes " + q.Terms.caip2() + "."
	case p.Accepted.Asset != q.Terms.Asset:
		return a, o, wrongFieldPrefix + "accepted.asset takes " + q.Terms.Asset.String() + "."
	}
	if o, wrong = q.accepted(p.Accepted.Extra.Tier, p.Accepted.Amount); wrong != "" {
		return a, o, wrong
	}
	a, wrong = p.Payload.read()
	return a, o, wrong
}

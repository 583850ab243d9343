package x402

import (
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/chainaccess/gateway/identity/wallet"
)

const maxTimeoutSeconds = int64(MaxTimeout / time.Second)

// MaxPayload bounds a payment header in bytes. One of a contract wallet that is not deployed yet
// carries its deployment (wallet.MaxSignature).
const MaxPayload = 24 << 10

// Payload is an authorization that came in a header of a version of the protocol, for an offer.
type Payload struct {
	Version int
	Authorization
	Offer Offer
}

// ReadPayload reads a payment header of a version. The words say what is wrong and what to send
// instead; they are empty when nothing is. Whether the authorization pays what is asked is Check's
// to say, and whether its signature is good the facilitator's.
func (q *Quote) ReadPayload(version int, header string) (p Payload, wrong string) {
	if len(header) > MaxPayload {
		return p, "The payment header is longer than any payment. Send the JSON of one payment in base64."
	}
	document, err := base64.StdEncoding.Strict().DecodeString(header)
	if err != nil {
		return p, "The payment header is no base64. Send the JSON of the payment in base64."
	}
	p.Version = version
	if version == Version1 {
		p.Authorization, p.Offer, wrong = q.readV1(document)
	} else {
		p.Authorization, p.Offer, wrong = q.readV2(document)
	}
	return p, wrong
}

// FacilitatorRequest is the body of POST /verify and /settle of a facilitator: the payment in the
// words of its version, and what it must meet. Both are written anew from what was read, so that
// nothing reaches a facilitator that was not understood here.
func (q *Quote) FacilitatorRequest(p *Payload) ([]byte, error) {
	type request struct {
		Version      int `json:"x402Version"`
		Payment      any `json:"paymentPayload"`
		Requirements any `json:"paymentRequirements"`
	}
	if p.Version == Version1 {
		requirement := q.requirementV1(p.Offer)
		return json.Marshal(request{
			Version1, payloadV1{Version1, requirement.Scheme, requirement.Network, p.wire()}, requirement,
		})
	}
	requirement := q.requirementV2(p.Offer)
	return json.Marshal(request{Version2, struct {
		Version  int           `json:"x402Version"`
		Resource resourceV2    `json:"resource"`
		Accepted RequirementV2 `json:"accepted"`
		Payload  wireExact     `json:"payload"`
	}{Version2, q.resourceV2(p.Offer), requirement, p.wire()}, requirement})
}

// Receipt is the header that tells a payer of a settled payment, X-PAYMENT-RESPONSE or
// PAYMENT-RESPONSE.
func (t Terms) Receipt(version int, tx TxHash, payer wallet.Address) string {
	return inBase64(struct {
		Success     bool           `json:"success"`
		Transaction TxHash         `json:"transaction"`
		Network     string         `json:"network"`
		Payer       wallet.Address `json:"payer"`
	}{true, tx, t.Network(version), payer})
}

func inBase64(document any) string {
	b, err := json.Marshal(document)
	if err != nil { // words and numbers
		panic(err)
	}
	return base64.StdEncoding.EncodeToString(b)
}

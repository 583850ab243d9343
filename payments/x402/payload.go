package x402

import (
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/chainaccess/gateway/identity/wallet"
)

const maxTimeoutSeconds = int64(MaxTimeout / time.Second)

// MaxPayload bounds a payment header in bytes. The signature of a contract wallet that is not
// deployed yet contains its deployment (wallet.MaxSignature).
const MaxPayload = 24 << 10

// Payload is an authorization from a payment header, with the protocol version of the header and
// the offer that it pays for.
type Payload struct {
	Version int
	Authorization
	Offer Offer
}

// ReadPayload parses a payment header of a protocol version. wrong states what is wrong and what to
// send instead; it is empty if nothing is. ReadPayload checks neither the amount, which Check does,
// nor the signature, which the facilitator does.
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

// FacilitatorRequest returns the body of a facilitator's POST /verify and POST /settle: the payment
// in the form of its version, and the requirements. Both are encoded anew from parsed fields, so a
// facilitator gets nothing that was not understood here.
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

// Receipt returns the value of the response header that reports a settled payment,
// X-PAYMENT-RESPONSE or PAYMENT-RESPONSE.
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
	if err != nil { // only strings and numbers are encoded here
		panic(err)
	}
	return base64.StdEncoding.EncodeToString(b)
}

package openapi

import (
	"maps"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/payments/x402"
)

// paidRefusals are the additional refusals of a call that carries a payment.
var paidRefusals = []fault.Reason{fault.OutcomeUnknown, fault.SettlementRedeemed}

// pay adds to the relay's operation what stock x402 clients see: the 402 of both protocol versions,
// receipts, and the credential for the rest of the bundle.
func (d *document) pay(op *huma.Operation) {
	op.Description += " Without key and credential, a request with Accept-Payment: x402 is answered 402 with what a " +
		"bundle of calls costs, and one with a payment of x402 version 1 or 2 is relayed once a facilitator has " +
		"settled it. A payment header works once; X-Payment-Credential of the answer carries the rest of the bundle."
	text := func(name, description string) *huma.Param {
		return &huma.Param{
			Name: name, In: "header", Description: description, Schema: &huma.Schema{Type: huma.TypeString},
		}
	}
	op.Parameters = append(op.Parameters, text("Accept-Payment", "x402: ask to pay"),
		text(x402.PaymentV2Header, "a payment of x402 version 2; version 1 goes into X-PAYMENT"))
	d.refuses(op, append([]fault.Reason{}, paidRefusals...), rpcEnvelope)
	said := func(description string) *huma.Param {
		return &huma.Param{Description: description, Schema: &huma.Schema{Type: huma.TypeString}}
	}
	for _, r := range op.Responses {
		r.Headers[x402.ReceiptV1Header] = said(
			"The transaction that paid, when the request came with a payment of version 1: JSON in base64.")
		r.Headers[x402.ReceiptV2Header] = said("The same for version 2.")
		r.Headers["X-Payment-Credential"] = said(
			"A credential for the rest of what was paid, to be sent in X-PAYMENT. It is shown once.")
	}
	unpaid := op.Responses[statusKey(http.StatusPaymentRequired)]
	unpaid.Headers[x402.RequiredV2Header] = said(
		"What may be paid, as x402 version 2 says it: JSON in base64. The body is that of version 1.")
	media := unpaid.Content[jsonMedia]
	media.Schema = &huma.Schema{
		AnyOf: []*huma.Schema{media.Schema, d.take(d.own, d.schemaOf(reflect.TypeFor[x402.RequiredV1]()))},
	}
}

// paidRelay describes /x402/rpc/{chain}, which differs from the relay's own path only in its answer
// to a request without a key or credential.
func (d *document) paidRelay(of *huma.Operation, chainParam *huma.Param) {
	op := *of
	op.Path, op.OperationID, op.Summary = "/x402/rpc/{chain}", "paid_rpc", "Send JSON-RPC to a chain and pay for it"
	op.Description = "The relay for stock x402 clients: without a payment it answers 402 with what a bundle of calls " +
		"costs, in the body of version 1 and the header of version 2; with one it relays once a facilitator has " +
		"settled it. A payment header works once; X-Payment-Credential of the answer carries the rest of the bundle. " +
		"A key, or a credential in X-PAYMENT, works as at /rpc/{chain}."
	op.Security = append([]map[string][]string{{}}, of.Security...)
	op.Responses = maps.Clone(of.Responses)
	d.add(&op)
	d.preflight(chainParam, op.Path, "paid_rpc_preflight")
}

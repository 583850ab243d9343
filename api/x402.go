package api

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/stock"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/relay"
)

// Stock x402 clients call the relay without a key, get the price of a bundle of calls with a 402,
// sign a payment and repeat the call. The relay's own path sells only to clients that announce that
// they pay; /x402/rpc/{chain} sells to everybody.
const (
	paidRPCPrefix = "/x402/rpc/"
	// acceptPayment is sent with the value x402 by clients that pay on the relay's own path.
	acceptPayment = "Accept-Payment"
	// soldHeader returns the credential for the rest of the bundle.
	soldHeader = "X-Payment-Credential"
	// ownCredential begins the credentials that POST /x402/redeem returns. X-PAYMENT accepts them
	// in addition to payments.
	ownCredential = "cagx_"
	// objectInBase64 is how base64 of a JSON object begins when its first member follows at once,
	// as in payments.
	objectInBase64 = "eyJ"
)

// paidRPC is POST /x402/rpc/{chain}, the relay for clients that pay per call. A key or a credential
// of the gateway works as on the relay's own path.
func (s *server) paidRPC(c *gin.Context) {
	if bearer(c.Request) != "" || strings.HasPrefix(c.Request.Header.Get(paymentHeader), ownCredential) {
		s.relayFor(c)
		return
	}
	s.sell(c)
}

// wantsPayment reports whether a request to the relay's own path is a stock payment: it has no key,
// and it pays or announces that it would.
func (s *server) wantsPayment(r *http.Request) bool {
	if s.Stock == nil || bearer(r) != "" {
		return false
	}
	payment := r.Header.Get(paymentHeader)
	switch {
	case strings.HasPrefix(payment, ownCredential):
		return false
	case strings.HasPrefix(payment, objectInBase64), r.Header.Get(x402.PaymentV2Header) != "":
		return true
	}
	return strings.EqualFold(r.Header.Get(acceptPayment), "x402")
}

// presented returns the payment of a request, in the newest version of the protocol that it uses.
// header is empty when there is none.
func presented(r *http.Request) (version int, header string) {
	if header = r.Header.Get(x402.PaymentV2Header); header != "" {
		return x402.Version2, header
	}
	return x402.Version1, r.Header.Get(paymentHeader)
}

// sell answers with the price of a bundle, or takes the payment and relays the call. It validates
// the request before it takes the payment.
func (s *server) sell(c *gin.Context) {
	e := &relay.Envelope{
		RequestID: requestID(c), Subject: &meter.Subject{}, Network: clientNetwork(c.Request, s.TrustedProxies),
	}
	buffer := newBody(min(s.MaxBodyBytes, usualBody))
	defer buffer.release()
	body, own := s.requestOf(c, e, buffer)
	if own != nil {
		s.refuseRPC(c, own, body)
		return
	}
	q := s.quote(c)
	version, header := presented(c.Request)
	if header == "" {
		s.askForPayment(c, &q, "Payment required: sign one of accepts, and send the request again with it.")
		return
	}
	p, wrong := q.ReadPayload(version, header)
	if wrong != "" {
		s.askForPayment(c, &q, wrong)
		return
	}
	if refusal := relay.Unreadable(body); refusal != nil {
		s.refuseRPC(c, refusal, body)
		return
	}
	sale, refusal := s.Stock.Take(c.Request.Context(), &q, &p, e.Network)
	switch {
	case refusal == nil:
		s.serveSale(c, e, body, &q, version, &sale)
	case refusal.Reason == fault.PaymentRequired:
		s.askForPayment(c, &q, refusal.Message)
	default:
		s.refuseRPC(c, refusal, body)
	}
}

// quote returns the price for the caller: for the tier of X-Route-Tier when it is set, with the VAT
// of the caller's country.
func (s *server) quote(c *gin.Context) x402.Quote {
	r := c.Request
	country := s.Locator.Country(r.Header, clientNetwork(r, s.TrustedProxies))
	return s.Stock.Quote(plan.Tier(r.Header.Get("X-Route-Tier")), country, s.PublicURL+paidRPCPrefix+c.Param("chain"))
}

// askForPayment answers 402 in both versions of the protocol: version 1 is in the body, version 2
// in the header.
func (s *server) askForPayment(c *gin.Context, q *x402.Quote, why string) {
	s.noteFault(c, fault.New(fault.PaymentRequired, "%s", why))
	h := c.Writer.Header()
	h.Set(x402.RequiredV2Header, q.V2(why))
	h.Set("Cache-Control", "no-store")
	body, err := json.Marshal(q.V1(why))
	if err != nil { // only strings and numbers
		panic(err)
	}
	c.Data(http.StatusPaymentRequired, jsonType, body)
}

// serveSale relays the call that was paid for. It returns the receipt and the credential for the
// rest, whatever the result of the call.
func (s *server) serveSale(c *gin.Context, e *relay.Envelope, body []byte, q *x402.Quote, version int,
	sale *stock.Sale,
) {
	h := c.Writer.Header()
	receipt := x402.ReceiptV1Header
	if version == x402.Version2 {
		receipt = x402.ReceiptV2Header
	}
	h.Set(receipt, q.Terms.Receipt(version, sale.Settlement.Tx, sale.Settlement.Payer))
	h.Set(soldHeader, sale.Credential.Reveal())
	h.Set("Cache-Control", "no-store")
	subject, refusal := s.Limits.IdentifyCredential(c.Request.Context(), sale.Credential.Reveal(),
		clientNetwork(c.Request, s.TrustedProxies))
	if refusal != nil {
		s.refuseRPC(c, refusal, body)
		return
	}
	e.Subject, e.Tier = subject, sale.Settlement.Deal.Tier
	s.relay(c, e, body)
}

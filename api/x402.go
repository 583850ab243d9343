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

// Stock x402 clients call the relay without a key, are told by a 402 what a bundle of calls costs,
// sign for it and call again. The relay's own path sells only to those who say that they pay; the
// path beneath sells to everybody.
const (
	paidRPCPrefix = "/x402/rpc/"
	// acceptPayment says on the relay's own path that its sender pays: its value is x402.
	acceptPayment = "Accept-Payment"
	// soldHeader gives a payer the credential for the rest of what was bought.
	soldHeader = "X-Payment-Credential"
	// ownCredential begins what POST /x402/redeem gives and X-PAYMENT takes besides payments.
	ownCredential = "cagx_"
	// objectInBase64 begins every JSON object in base64 whose first member follows at once, as
	// payments are.
	objectInBase64 = "eyJ"
)

// paidRPC is POST /x402/rpc/{chain}: the relay for those who pay per call. A key or a credential of
// ours works as on the relay's own path.
func (s *server) paidRPC(c *gin.Context) {
	if bearer(c.Request) != "" || strings.HasPrefix(c.Request.Header.Get(paymentHeader), ownCredential) {
		s.relayFor(c)
		return
	}
	s.sell(c)
}

// wantsPayment reports whether a request to the relay's own path is for stock payments: it has no
// key, and it pays or says that it would.
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

// presented is the payment of a request, of the newest version of the protocol that it speaks;
// empty when it has none.
func presented(r *http.Request) (version int, header string) {
	if header = r.Header.Get(x402.PaymentV2Header); header != "" {
		return x402.Version2, header
	}
	return x402.Version1, r.Header.Get(paymentHeader)
}

// sell answers with what a bundle costs, or takes the payment and relays. What is wrong with the
// request is found before anything is paid.
func (s *server) sell(c *gin.Context) {
	e := &relay.Envelope{
		RequestID: requestID(c), Subject: &meter.Subject{}, Network: clientNetwork(c.Request, s.TrustedProxies),
	}
	buffer := bodies.Get().(*[]byte) //nolint:errcheck,forcetypeassert // the pool holds these only
	defer giveBack(buffer)
	body, own := s.requestOf(c, e, buffer)
	if own != nil {
		s.refuseRPC(c, own)
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
		s.refuseRPC(c, refusal)
		return
	}
	sale, refusal := s.Stock.Take(c.Request.Context(), &q, &p, e.Network)
	switch {
	case refusal == nil:
		s.serveSale(c, e, body, &q, version, &sale)
	case refusal.Reason == fault.PaymentRequired:
		s.askForPayment(c, &q, refusal.Message)
	default:
		s.refuseRPC(c, refusal)
	}
}

// quote is what the caller is asked for: on the tier of X-Route-Tier when there is one, taxed by
// where the caller is.
func (s *server) quote(c *gin.Context) x402.Quote {
	r := c.Request
	country := s.Locator.Country(r.Header, clientNetwork(r, s.TrustedProxies))
	return s.Stock.Quote(plan.Tier(r.Header.Get("X-Route-Tier")), country, s.PublicURL+paidRPCPrefix+c.Param("chain"))
}

// askForPayment answers 402 in both versions of the protocol at once: version 1 reads the body,
// version 2 the header.
func (s *server) askForPayment(c *gin.Context, q *x402.Quote, why string) {
	s.noteFault(c, fault.New(fault.PaymentRequired, "%s", why))
	h := c.Writer.Header()
	h.Set(x402.RequiredV2Header, q.V2(why))
	h.Set("Cache-Control", "no-store")
	body, err := json.Marshal(q.V1(why))
	if err != nil { // words and numbers
		panic(err)
	}
	c.Data(http.StatusPaymentRequired, jsonType, body)
}

// serveSale relays the call that was paid for, and gives the payer the receipt and the credential
// for the rest, whatever comes of the call.
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
		s.refuseRPC(c, refusal)
		return
	}
	e.Subject, e.Tier = subject, sale.Settlement.Deal.Tier
	s.relay(c, e, body)
}

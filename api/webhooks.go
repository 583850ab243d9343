package api

import (
	"errors"
	"io"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/chainaccess/gateway/api/internal/openapi"
	"github.com/chainaccess/gateway/internal/fault"
)

const (
	// maxWebhook limits the body of a webhook, in bytes; Stripe's are far smaller.
	maxWebhook = 256 << 10
	// signatureHeader carries Stripe's signature of the body.
	signatureHeader = "Stripe-Signature"
)

// webhookRoute is the route for Stripe's events.
func (s *server) webhookRoute() plainRoute {
	return plainRoute{openapi.Plain{
		Method: http.MethodPost, Path: "/webhooks/stripe", Name: "receive_stripe_event", Title: "Stripe's webhooks",
		Description: "Takes events that Stripe signed, within five minutes, each once by its id; what they say is " +
			"read again from Stripe. Nobody else has a use for it.",
		Body:    "An event of Stripe's, as it was signed in " + signatureHeader + ".",
		Answers: map[int]openapi.Answer{http.StatusOK: {Description: "It is stored, or was before."}},
		Fails:   []fault.Reason{fault.FieldRefused, fault.BodyTooLarge, fault.NotJSON, fault.DurableUnavailable},
	}, s.webhook}
}

func (s *server) webhook(c *gin.Context) {
	// the exact bytes that were signed
	body, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, maxWebhook))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		s.refuse(c, fault.New(fault.BodyTooLarge, "The body is larger than %d bytes, which no event of Stripe's is.",
			maxWebhook))
		return
	}
	if err != nil {
		s.refuse(c, fault.New(fault.NotJSON, "The body could not be read. Send it again.").Wrap(err))
		return
	}
	if refusal := s.Capabilities.ReceiveStripeEvent(c.Request.Context(), body,
		c.GetHeader(signatureHeader)); refusal != nil {
		s.refuse(c, refusal)
		return
	}
	c.Status(http.StatusOK)
}

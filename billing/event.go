package billing

import (
	"crypto/hmac"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v76"
	"github.com/stripe/stripe-go/v76/webhook"
)

// Errors of ReadEvent.
var (
	// ErrSignature is returned when the webhook is not signed with the secret, so it is not from
	// Stripe.
	ErrSignature = errors.New("the webhook is not signed with the secret of its endpoint")
	// ErrStale is returned when it was signed more than five minutes before or after now, so it may
	// be a replay.
	ErrStale = errors.New("the webhook's signature is more than five minutes old")
	// ErrNoEvent is returned when it is signed and is not an event.
	ErrNoEvent = errors.New("the webhook holds no event")
)

// tolerance is the maximum difference between a signature's time and now; Stripe's own default.
const tolerance = webhook.DefaultTolerance

// Event is a hint that something of a customer changed. What changed is read from Stripe.
type Event struct {
	ID         string
	Type       string
	APIVersion string // version of the objects in it
	Created    time.Time
	// Object is the id of the object that changed, Customer its customer, and Session its Checkout
	// Session; each is empty when the event does not name it.
	Object, Customer, Session string
	// Payment is the payment intent; disputes and refunds name no customer.
	Payment string
}

// Pinned reports whether the event's objects have our API version.
func (e *Event) Pinned() bool { return e.APIVersion == APIVersion }

// ReadEvent verifies a webhook's signature, which must be within five minutes of now, and parses
// the event. It reads only ids of the objects, in any API version.
func ReadEvent(payload []byte, signature, secret string, now time.Time) (Event, error) {
	signed, sums, ok := parseSignature(signature)
	if !ok || secret == "" {
		return Event{}, ErrSignature
	}
	want, good := webhook.ComputeSignature(signed, payload, secret), false
	for _, sum := range sums { // several while a secret is being rotated
		good = hmac.Equal(sum, want) || good
	}
	switch age := now.Sub(signed); {
	case !good:
		return Event{}, ErrSignature
	case age > tolerance, age < -tolerance:
		return Event{}, ErrStale
	}
	return decodeEvent(payload)
}

// maxSums bounds how many signatures of one header are compared.
const maxSums = 8

// parseSignature parses t=<seconds>,v1=<hex>,… (https://stripe.com/docs/webhooks, verify manually).
func parseSignature(header string) (signed time.Time, sums [][]byte, ok bool) {
	for part := range strings.SplitSeq(header, ",") {
		name, value, found := strings.Cut(strings.TrimSpace(part), "=")
		switch {
		case !found:
			return time.Time{}, nil, false
		case name == "t":
			seconds, err := strconv.ParseInt(value, 10, 64)
			if err != nil || !signed.IsZero() {
				return time.Time{}, nil, false
			}
			signed = time.Unix(seconds, 0)
		case name == "v1" && len(sums) < maxSums:
			if sum, err := hex.DecodeString(value); err == nil {
				sums = append(sums, sum)
			}
		}
	}
	return signed, sums, !signed.IsZero() && len(sums) > 0
}

// ref is the id of a referenced object, which an event has as an id or as the object itself.
type ref string

// UnmarshalJSON accepts both forms; anything else leaves the id empty.
func (r *ref) UnmarshalJSON(text []byte) error {
	var id string
	if json.Unmarshal(text, &id) == nil {
		*r = ref(id)
		return nil
	}
	var object struct{ ID string }
	if json.Unmarshal(text, &object) == nil {
		*r = ref(object.ID)
	}
	return nil
}

// object is the part of an event's object that API versions agree on.
type object struct {
	ID       string `json:"id"`
	Object   string `json:"object"`
	Customer ref    `json:"customer"`
	Payment  ref    `json:"payment_intent"`
}

// maxWord is the maximum length of Stripe's ids, and maxType of event types, as in PostgreSQL.
const (
	maxWord = 255
	maxType = 100
)

func decodeEvent(payload []byte) (Event, error) {
	var from struct {
		ID         string `json:"id"`
		Type       string `json:"type"`
		APIVersion string `json:"api_version"`
		Created    int64  `json:"created"`
		Data       struct {
			Object object `json:"object"`
		} `json:"data"`
	}
	if err := json.Unmarshal(payload, &from); err != nil {
		return Event{}, ErrNoEvent // the decoder's error quotes the payload
	}
	about := &from.Data.Object
	e := Event{
		ID: from.ID, Type: from.Type, APIVersion: from.APIVersion, Created: at(from.Created), Object: about.ID,
		Customer: string(about.Customer), Payment: string(about.Payment),
	}
	switch about.Object {
	case "customer":
		e.Customer = about.ID
	case "checkout.session":
		e.Session = about.ID
	case "payment_intent":
		e.Payment = about.ID
	}
	for _, word := range []string{e.ID, e.Type, e.APIVersion, e.Object, e.Customer, e.Session, e.Payment} {
		if len(word) > maxWord || strings.ContainsFunc(word, unprintable) {
			return Event{}, ErrNoEvent
		}
	}
	if e.ID == "" || e.Type == "" || len(e.Type) > maxType {
		return Event{}, ErrNoEvent
	}
	return e, nil
}

// unprintable reports whether a character cannot be in an id.
func unprintable(r rune) bool { return r <= ' ' || r > '~' }

// Events lists the event types that a webhook endpoint must be subscribed to: each reports that
// something of a customer changed.
func Events() []string {
	types := []stripe.EventType{
		stripe.EventTypeCheckoutSessionCompleted, stripe.EventTypeCheckoutSessionExpired,
		stripe.EventTypeCheckoutSessionAsyncPaymentSucceeded, stripe.EventTypeCheckoutSessionAsyncPaymentFailed,
		stripe.EventTypeCustomerUpdated, stripe.EventTypeCustomerDeleted,
		stripe.EventTypeCustomerSubscriptionCreated, stripe.EventTypeCustomerSubscriptionUpdated,
		stripe.EventTypeCustomerSubscriptionDeleted, stripe.EventTypeCustomerSubscriptionPaused,
		stripe.EventTypeCustomerSubscriptionResumed, stripe.EventTypeInvoiceFinalized, stripe.EventTypeInvoicePaid,
		stripe.EventTypeInvoicePaymentFailed, stripe.EventTypeInvoiceUpdated, stripe.EventTypeInvoiceVoided,
		stripe.EventTypeInvoiceMarkedUncollectible, stripe.EventTypePaymentIntentSucceeded,
		stripe.EventTypePaymentMethodAttached, stripe.EventTypePaymentMethodAutomaticallyUpdated,
		stripe.EventTypeChargeRefunded, stripe.EventTypeChargeDisputeCreated, stripe.EventTypeChargeDisputeClosed,
	}
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = string(t)
	}
	return names
}

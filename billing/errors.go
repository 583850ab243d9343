package billing

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/stripe/stripe-go/v76"
)

// The kinds of errors of this package, for errors.Is. An error of none of these kinds means that
// the request was wrong.
var (
	// ErrUnavailable is returned without an answer, or with one that asks to retry. The request may
	// have taken effect; a retry with the same idempotency key is safe.
	ErrUnavailable = errors.New("Stripe gave no usable answer")
	// ErrDeclined is returned when the customer's bank or Stripe declined the card. Nothing
	// changed.
	ErrDeclined = errors.New("the card was declined")
	// ErrGone is returned when Stripe has no such object, or it was deleted.
	ErrGone = errors.New("Stripe has no such object")
	// ErrNotForSale is returned when the price of an item is missing at Stripe, or is not what the
	// plan says. Nothing is sold.
	ErrNotForSale = errors.New("Stripe's price is not the plan's")
)

// Error is an error response of Stripe, without its message, which may repeat what was sent.
type Error struct {
	Status    int    // HTTP status
	Type      string // Stripe's type: card_error, invalid_request_error, …
	Code      string // Stripe's code: resource_missing, card_declined, …
	Param     string // name of the invalid parameter
	RequestID string // for Stripe's support
}

// Error returns the fields in one line.
func (e *Error) Error() string {
	return fmt.Sprintf("Stripe refused with %d %s %s %s (request %s)", e.Status, e.Type, e.Code, e.Param, e.RequestID)
}

// Is reports whether the response is of a kind of error.
func (e *Error) Is(kind error) bool {
	switch kind { //nolint:errorlint // sentinels are compared
	case ErrDeclined: // or the bank requires a confirmation, which nobody can give here
		return e.Type == string(stripe.ErrorTypeCard) || e.Status == http.StatusPaymentRequired
	case ErrGone:
		return e.Code == string(stripe.ErrorCodeResourceMissing)
	case ErrUnavailable: // the operator must replace a wrong key; a retry succeeds then
		return e.Status >= http.StatusInternalServerError || e.Status == http.StatusTooManyRequests ||
			e.Status == http.StatusConflict ||
			e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden ||
			e.Type == string(stripe.ErrorTypeAPI)
	}
	return false
}

// failed converts an error of stripe-go to one of this package; what is the action that failed.
func failed(what string, err error) error {
	if err == nil {
		return nil
	}
	if no, ok := errors.AsType[*stripe.Error](err); ok {
		return fmt.Errorf("%s: %w", what, &Error{
			Status: no.HTTPStatusCode, Type: string(no.Type), Code: string(no.Code), Param: no.Param,
			RequestID: no.RequestID,
		})
	}
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s: %w: %w", what, ErrUnavailable, context.Canceled)
	}
	return fmt.Errorf("%s: %w: %w", what, ErrUnavailable, innermost(err))
}

// innermost returns the innermost wrapped error, whose text contains no address. An error that
// wraps nothing is replaced, because it may quote the answer.
func innermost(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	if errors.Unwrap(err) == nil {
		return errors.New("the answer cannot be read")
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err
}

// code reports whether err is an error response with this code.
func code(err error, word stripe.ErrorCode) bool {
	no, ok := errors.AsType[*Error](err)
	return ok && no.Code == string(word)
}

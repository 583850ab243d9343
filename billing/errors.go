package billing

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/stripe/stripe-go/v76"
)

// What the errors of this package are told apart by, with errors.Is. An error that is none of them
// is a mistake in what was sent.
var (
	// ErrUnavailable: no answer, or one that says to come again. What was asked for may have been
	// done; asking again with the same key is safe.
	ErrUnavailable = errors.New("Stripe gave no usable answer")
	// ErrDeclined: the customer's bank or Stripe refused the card. Nothing was changed.
	ErrDeclined = errors.New("the card was declined")
	// ErrGone: Stripe has no such object, or it was deleted.
	ErrGone = errors.New("Stripe has no such object")
	// ErrNotForSale: the price of an item is missing at Stripe, or is not what the plan says.
	// Nothing is sold.
	ErrNotForSale = errors.New("Stripe's price is not the plan's")
)

// Error is Stripe's no, without its words, which may repeat what was sent.
type Error struct {
	Status    int    // of HTTP
	Type      string // a word of Stripe's: card_error, invalid_request_error, …
	Code      string // a word of Stripe's: resource_missing, card_declined, …
	Param     string // the parameter at fault, by name
	RequestID string // for Stripe's support
}

// Error names the words.
func (e *Error) Error() string {
	return fmt.Sprintf("Stripe refused with %d %s %s %s (request %s)", e.Status, e.Type, e.Code, e.Param, e.RequestID)
}

// Is sorts the refusal.
func (e *Error) Is(kind error) bool {
	switch kind { //nolint:errorlint // sentinels are compared
	case ErrDeclined: // or the bank wants its owner to confirm, which nobody can here
		return e.Type == string(stripe.ErrorTypeCard) || e.Status == http.StatusPaymentRequired
	case ErrGone:
		return e.Code == string(stripe.ErrorCodeResourceMissing)
	case ErrUnavailable: // a wrong key is the operator's to mend, and asking again then is right
		return e.Status >= http.StatusInternalServerError || e.Status == http.StatusTooManyRequests ||
			e.Status == http.StatusConflict ||
			e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden ||
			e.Type == string(stripe.ErrorTypeAPI)
	}
	return false
}

// failed turns what stripe-go gives into an error of this package that says what was tried.
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

// innermost keeps of an error the words that name no address. What could not be decoded is quoted
// in its outer ones.
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

// code reports whether an error is Stripe's no with this word.
func code(err error, word stripe.ErrorCode) bool {
	no, ok := errors.AsType[*Error](err)
	return ok && no.Code == string(word)
}

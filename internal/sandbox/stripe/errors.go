package stripe

import (
	"fmt"
	"net/http"
)

// The types of errors in answers.
const (
	invalidRequest   = "invalid_request_error"
	cardError        = "card_error"
	idempotencyError = "idempotency_error"
	apiFailure       = "api_error"
)

// apiError is a refusal in the form of Stripe's answers.
type apiError struct {
	Status      int    `json:"-"`
	Type        string `json:"type"`
	Code        string `json:"code,omitempty"`
	DeclineCode string `json:"decline_code,omitempty"`
	Message     string `json:"message"`
	Param       string `json:"param,omitempty"`
	Charge      string `json:"charge,omitempty"`
	// Intent is the payment intent whose card was declined.
	Intent any `json:"payment_intent,omitempty"`
}

func (e *apiError) Error() string { return fmt.Sprintf("%s %s: %s", e.Type, e.Code, e.Message) }

func invalid(code, param, format string, args ...any) *apiError {
	return &apiError{
		Status: http.StatusBadRequest, Type: invalidRequest, Code: code, Param: param,
		Message: fmt.Sprintf(format, args...),
	}
}

// missing is the answer for an object that there is not. param names where it stood; "id" for the
// path.
func missing(kind, id, param string) *apiError {
	status := http.StatusBadRequest
	if param == "id" {
		status = http.StatusNotFound
	}
	return &apiError{
		Status: status, Type: invalidRequest, Code: "resource_missing", Param: param,
		Message: fmt.Sprintf("No such %s: '%s'", kind, id),
	}
}

func writeBody(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec // JSON, and whoever asked may have gone away
}

package stripe

import (
	"fmt"
	"net/http"
)

// Types of errors.
const (
	invalidRequest   = "invalid_request_error"
	cardError        = "card_error"
	idempotencyError = "idempotency_error"
	apiFailure       = "api_error"
)

// apiError is an error in the form of Stripe's API.
type apiError struct {
	Status      int    `json:"-"`
	Type        string `json:"type"`
	Code        string `json:"code,omitempty"`
	DeclineCode string `json:"decline_code,omitempty"`
	Message     string `json:"message"`
	Param       string `json:"param,omitempty"`
	Charge      string `json:"charge,omitempty"`
	// Intent is the payment intent of a declined card.
	Intent any `json:"payment_intent,omitempty"`
}

func (e *apiError) Error() string { return fmt.Sprintf("%s %s: %s", e.Type, e.Code, e.Message) }

func invalid(code, param, format string, args ...any) *apiError {
	return &apiError{
		Status: http.StatusBadRequest, Type: invalidRequest, Code: code, Param: param,
		Message: fmt.Sprintf(format, args...),
	}
}

// missing returns the error for an object that does not exist. param names the parameter with its
// id; "id" is the path.
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
	_, _ = w.Write(body) //nolint:gosec // JSON; the client may have disconnected
}

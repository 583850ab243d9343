package wallet

import (
	"errors"
	"fmt"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
)

// Error is what is wrong with an address, a message or a signature. errors.Is matches errors of the
// same name.
type Error struct {
	Name    string // stable snake_case word
	Message string // public; says what to do next
}

// Error returns the public message.
func (e *Error) Error() string { return e.Message }

// Is reports whether target has the same name, whatever its details.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error) //nolint:errorlint // errors.Is unwraps
	return ok && t.Name == e.Name
}

// What may be wrong. The caller can correct every one of them.
var (
	ErrAddress = &Error{"address", "The address is not valid: send 0x and 40 hexadecimal digits."}
	ErrMessage = &Error{
		"message", "The message is not an EIP-4361 message: sign and send the issued text unchanged.",
	}
	ErrDomain = &Error{
		"domain", "The message is for another domain: sign the message that this service issued.",
	}
	ErrURI     = &Error{"uri", "The message is for another URI: sign the message that this service issued."}
	ErrChainID = &Error{
		"chain_id", "The message is for another chain: sign the message that this service issued.",
	}
	ErrNonce  = &Error{"nonce", "The message has another nonce: start again and sign the new message."}
	ErrWallet = &Error{
		"wallet", "The message is for another wallet: sign with the wallet that it was issued for, or start again " +
			"with this one.",
	}
	ErrContent = &Error{
		"content", "The message was changed: sign the message that this service issued, character by character.",
	}
	ErrExpired     = &Error{"expired", "The message has expired: start again and sign the new message."}
	ErrNotYetValid = &Error{
		"not_yet_valid", "The message is not valid yet: wait until its Not Before, or start again.",
	}
	ErrIssuedInFuture = &Error{
		"issued_in_future",
		"The message says that it is issued in the future: set the clock of the machine that made it, or start again.",
	}
	ErrSignatureForm = &Error{
		"signature_form", "The signature is not valid: send what personal_sign gave, 0x and hexadecimal digits.",
	}
	ErrSignatureMalleable = &Error{
		"signature_malleable",
		"The signature has a high s, so others could make it of the wallet's own: send it in the low-s form that " +
			"wallets give.",
	}
	ErrSignatureMismatch = &Error{
		"signature_mismatch",
		"The signature is not one of this wallet over this message: sign exactly the issued text with this wallet.",
	}
)

// ErrChainUnreachable is returned when only the chain could decide and gave no usable answer. It
// says nothing about the signature: retry later.
var ErrChainUnreachable = errors.New("the chain that decides about the signature gave no usable answer")

// about returns the error with more words before its advice.
func (e *Error) about(format string, args ...any) *Error {
	return &Error{Name: e.Name, Message: fmt.Sprintf(format, args...) + " " + e.Message}
}

// whenToComeAgain is the Retry-After when the chain cannot be reached.
const whenToComeAgain = 5 * time.Second

// Refuse converts err to a fault: an *Error to one with the given reason and its name in data.why,
// ErrChainUnreachable to fault.NoUpstream (HTTP 503). Any other error, and nil, is returned
// unchanged.
func Refuse(reason fault.Reason, err error) error {
	if wrong, ok := errors.AsType[*Error](err); ok {
		return fault.New(reason, "%s", wrong.Message).With("why", wrong.Name).Wrap(err)
	}
	if errors.Is(err, ErrChainUnreachable) {
		f := fault.New(fault.NoUpstream,
			"The signature could not be checked: it may be one of a contract wallet, and the chain does not answer "+
				"right now. Send the same again in some seconds.").Wrap(err)
		f.RetryAfter = whenToComeAgain
		return f
	}
	return err
}

package x402

import "github.com/chainaccess/gateway/internal/fault"

// Why says what is wrong with a credential.
type Why string

// The reasons of a refused credential.
const (
	// no such credential, or one that ended: a newer one took its place, or its settlement left the
	// chain
	Unknown Why = "unknown"
	Spent   Why = "spent"   // fewer units left than the call weighs; the remainder stays
	Expired Why = "expired" // its window is over
)

// MenuPath is where the menu stands.
const MenuPath = "/x402"

// Unpaid refuses a credential: HTTP 402 and -32018 with data.reason and data.menu (decisions of the
// interface, section 3).
func Unpaid(why Why) *fault.Error {
	var message string
	switch why {
	case Spent:
		message = "The credential in X-PAYMENT has fewer units left than this call weighs; what is left stays usable " +
			"until its window ends. Pay a new settlement against the menu at " + MenuPath + "."
	case Expired:
		message = "The window of the credential in X-PAYMENT is over. Pay a new settlement against the menu at " +
			MenuPath + "."
	default:
		message = "The credential in X-PAYMENT is not known, or a newer one took its place. Redeem your settlement " +
			"again for a fresh one, or pay a new one against the menu at " + MenuPath + "."
	}
	return fault.New(fault.PaymentRequired, "%s", message).With("reason", string(why)).With("menu", MenuPath)
}

package x402

import "github.com/chainaccess/gateway/internal/fault"

// Why is the reason why a credential is refused.
type Why string

// The reasons why a credential is refused.
const (
	// there is no such credential, or it ended: a newer one replaced it, or a reorg removed its
	// settlement
	Unknown Why = "unknown"
	Spent   Why = "spent"   // fewer units left than the call weighs; they stay usable
	Expired Why = "expired" // its window is over
)

// MenuPath is the path of the menu.
const MenuPath = "/x402"

// Unpaid refuses a credential with HTTP 402 and code -32018, with data.reason and data.menu
// (docs/interface.md, 2.7).
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

package console

import (
	"strings"

	"github.com/chainaccess/gateway/metering/plan"
)

// dollars formats an amount: $1,250.00.
func dollars(c plan.Cents) string {
	text := plan.Group(c.String())
	if rest, negative := strings.CutPrefix(text, "-"); negative {
		return "-$" + rest
	}
	return "$" + text
}

// amount formats an amount in a currency, given by its code such as usd.
func amount(c plan.Cents, currency string) string {
	if strings.EqualFold(currency, "usd") {
		return dollars(c)
	}
	return plan.Group(c.String()) + " " + strings.ToUpper(currency)
}

// Statuses of invoices, in the payment provider's terms.
const (
	invoiceOpen = "open"
	invoicePaid = "paid"
	invoiceVoid = "void"
)

// invoiceStatus returns the status of an invoice. failed reports that a charge for it was declined.
func invoiceStatus(word string, failed bool) status {
	switch {
	case word == invoicePaid:
		return status{good, "paid"}
	case word == invoiceVoid:
		return status{"", "void"}
	case failed:
		return status{bad, "charge declined"}
	case word == invoiceOpen:
		return status{warn, "open"}
	}
	return status{bad, word}
}

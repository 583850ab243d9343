package console

import (
	"strings"

	"github.com/chainaccess/gateway/metering/plan"
)

// dollars is an amount for people: $1,250.00.
func dollars(c plan.Cents) string {
	text := plan.Group(c.String())
	if rest, negative := strings.CutPrefix(text, "-"); negative {
		return "-$" + rest
	}
	return "$" + text
}

// amount is an amount in a currency by its code, such as usd.
func amount(c plan.Cents, currency string) string {
	if strings.EqualFold(currency, "usd") {
		return dollars(c)
	}
	return plan.Group(c.String()) + " " + strings.ToUpper(currency)
}

// Statuses of invoices, in the payment provider's words.
const (
	invoiceOpen = "open"
	invoicePaid = "paid"
	invoiceVoid = "void"
)

// invoiceStatus says how an invoice stands; failed that a charge of it was declined.
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

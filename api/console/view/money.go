package view

import (
	"strings"

	"github.com/chainaccess/gateway/metering/plan"
)

// Dollars formats an amount: $1,250.00.
func Dollars(c plan.Cents) string {
	text := plan.Group(c.String())
	if rest, negative := strings.CutPrefix(text, "-"); negative {
		return "-$" + rest
	}
	return "$" + text
}

// Amount formats an amount in a currency, given by its code such as usd.
func Amount(c plan.Cents, currency string) string {
	if strings.EqualFold(currency, "usd") {
		return Dollars(c)
	}
	return plan.Group(c.String()) + " " + strings.ToUpper(currency)
}

// Statuses of invoices, in the payment provider's terms.
const (
	InvoiceOpen = "open"
	InvoicePaid = "paid"
	InvoiceVoid = "void"
)

// InvoiceStatus returns the status of an invoice. failed reports that a charge for it was declined.
func InvoiceStatus(word string, failed bool) Status {
	switch {
	case word == InvoicePaid:
		return Status{Good, "paid"}
	case word == InvoiceVoid:
		return Status{"", "void"}
	case failed:
		return Status{Bad, "charge declined"}
	case word == InvoiceOpen:
		return Status{Warn, "open"}
	}
	return Status{Bad, word}
}

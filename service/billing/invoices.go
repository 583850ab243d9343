package billing

import (
	"context"
	"errors"
	"time"

	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store"
)

// ListInvoicesInput selects a page of invoices.
type ListInvoicesInput struct {
	Limit  int    `json:"limit,omitempty" minimum:"1" maximum:"100" default:"24" doc:"how many invoices, newest first"`
	Before string `json:"before,omitempty" format:"date-time" maxLength:"40" doc:"only invoices made before this; created_at of the last one gives the next page"`
}

// InvoiceList is a page of invoices, newest first.
type InvoiceList struct {
	Invoices []InvoiceView `json:"invoices"`
	More     bool          `json:"more" doc:"whether older ones follow"`
}

// InvoiceView is one invoice. Net plus VAT equals the total.
type InvoiceView struct {
	ID          string            `json:"id" doc:"give it to show_invoice for the invoice itself"`
	Number      string            `json:"number" doc:"as it stands on the invoice; empty until it has one"`
	Status      string            `json:"status" enum:"open,paid,void,uncollectible"`
	Reason      string            `json:"reason" doc:"what it was made for, in a word of the payment provider's: subscription_create, subscription_cycle, subscription_update, manual"`
	Net         operation.Dollars `json:"net_usd"`
	VAT         operation.Dollars `json:"vat_usd"`
	Total       operation.Dollars `json:"total_usd"`
	Paid        operation.Dollars `json:"paid_usd"`
	CreatedAt   time.Time         `json:"created_at"`
	PaidAt      *time.Time        `json:"paid_at" nullable:"true"`
	PeriodStart time.Time         `json:"period_start" doc:"what it is for"`
	PeriodEnd   time.Time         `json:"period_end"`
	Attempts    int               `json:"attempts" doc:"charges that were tried"`
	NextAttempt *time.Time        `json:"next_attempt" nullable:"true" doc:"when the card is charged again; null when it is not"`
	Failed      bool              `json:"failed" doc:"whether a charge was declined and it is not paid"`
}

func (h *handlers) listInvoices() *operation.Operation[ListInvoicesInput, InvoiceList] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "list_invoices", Title: "List invoices", Access: operation.Users, Reads: true,
		Description: "Lists the invoices of the account's plans and packs, newest first. It costs nothing.",
		Fails:       []fault.Reason{fault.DurableUnavailable},
	}, h.runListInvoices)
}

const defaultInvoices = 24

func (h *handlers) runListInvoices(ctx context.Context, c *operation.Call, in ListInvoicesInput) (InvoiceList, error) {
	if in.Limit == 0 {
		in.Limit = defaultInvoices
	}
	before := h.Now().Add(time.Hour) // an invoice may be created while this runs
	if in.Before != "" {
		var err error
		if before, err = time.Parse(time.RFC3339Nano, in.Before); err != nil {
			return InvoiceList{}, fault.New(fault.FieldRefused, "before takes a time such as 2026-11-22T12:00:00Z.")
		}
	}
	all, err := h.Store.ListInvoices(ctx, c.Account.ID, time.Unix(0, 0), before, in.Limit+1)
	if err != nil {
		return InvoiceList{}, operation.ToFault(err, "invoice")
	}
	list := InvoiceList{Invoices: []InvoiceView{}, More: len(all) > in.Limit}
	for i := range all[:min(len(all), in.Limit)] {
		list.Invoices = append(list.Invoices, invoiceView(&all[i]))
	}
	return list, nil
}

func invoiceView(i *subscription.Invoice) InvoiceView {
	return InvoiceView{
		ID: i.ID, Number: i.Number, Status: string(i.Status), Reason: i.Reason, Net: operation.Dollars(i.Net),
		VAT: operation.Dollars(i.VAT), Total: operation.Dollars(i.Total), Paid: operation.Dollars(i.Paid),
		CreatedAt: i.CreatedAt,
		PaidAt:    operation.NullTime(i.PaidAt), PeriodStart: i.PeriodStart, PeriodEnd: i.PeriodEnd,
		Attempts:    i.Attempts,
		NextAttempt: operation.NullTime(i.NextAttempt), Failed: i.Failed(),
	}
}

// ShowInvoiceInput identifies an invoice.
type ShowInvoiceInput struct {
	ID string `json:"id" minLength:"1" maxLength:"255" pattern:"^[A-Za-z0-9_]+$" doc:"an invoice of the account, as list_invoices gives it"`
}

// InvoicePage is the page of an invoice.
type InvoicePage struct {
	URL string `json:"url" format:"uri" doc:"a page of the payment provider that shows the invoice, and takes its payment while it is open; who has the address sees it"`
}

func (h *handlers) showInvoice() *operation.Operation[ShowInvoiceInput, InvoicePage] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "show_invoice", Title: "Open an invoice", Access: operation.Owners, ReadsToo: true,
		Description: "Gives the address of an invoice at the payment provider, as a page and for download; an open " +
			"one can be paid there. It costs nothing.",
		Fails: append([]fault.Reason{fault.NotYours}, billingFails...),
	}, h.runShowInvoice)
}

func (h *handlers) runShowInvoice(ctx context.Context, c *operation.Call, in ShowInvoiceInput) (InvoicePage, error) {
	found, err := h.Store.FindInvoice(ctx, c.Account.ID, in.ID)
	if err != nil {
		return InvoicePage{}, operation.ToFault(err, "invoice")
	}
	if refusal := h.selling(); refusal != nil {
		return InvoicePage{}, refusal
	}
	url, err := h.Stripe.InvoiceURL(ctx, found.ID)
	return InvoicePage{URL: url}, toldByStripe(err)
}

// Portal is the payment provider's page where customers manage how they pay.
type Portal struct {
	URL string `json:"url" format:"uri" doc:"a page of the payment provider, for the person who asked, for some minutes"`
}

func (h *handlers) openPortal() *operation.Operation[operation.Nothing, Portal] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "open_billing_portal", Title: "Open the customer portal", Access: operation.Owners,
		Description: "Gives the address of the payment provider's portal, where the card, the billing address and " +
			"the country are changed, invoices paid and downloaded, and a plan cancelled for the end of its period. " +
			"It costs nothing.",
		Fails: billingFails,
	}, h.runOpenPortal)
}

func (h *handlers) runOpenPortal(ctx context.Context, c *operation.Call, _ operation.Nothing) (Portal, error) {
	if refusal := h.selling(); refusal != nil {
		return Portal{}, refusal
	}
	if refusal := h.Limit(ctx, "billing:"+c.Account.ID.String(), billingLimit); refusal != nil {
		return Portal{}, refusal
	}
	customer, err := h.Store.FindCustomer(ctx, c.Account.ID)
	if errors.Is(err, store.ErrNotFound) {
		return Portal{}, fault.New(fault.FieldRefused,
			"Nothing was bought by this account yet, so there is no card and no invoice to look at. Choose a plan or "+
				"a pack first.")
	}
	if err != nil {
		return Portal{}, operation.ToFault(err, "customer")
	}
	url, err := h.Stripe.OpenPortal(ctx, customer.ID, h.PublicURL+billingPath)
	return Portal{URL: url}, toldByStripe(err)
}

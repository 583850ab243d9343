package stripe

// Objects have and are stored in the form of API version 2023-10-16, as far as this server uses it.
// References are ids; view replaces those that are always embedded or that a request expands.
// Fields whose names begin with "sandbox_" are internal and never sent.

// stamp is a Unix time in seconds, encoded as null when zero.
type stamp int64

func (s stamp) MarshalJSON() ([]byte, error) { return nullable(int64(s)) }

// number is a count or an amount, encoded as null when zero.
type number int64

func (n number) MarshalJSON() ([]byte, error) { return nullable(int64(n)) }

// word is a string, encoded as null when empty.
type word string

func (w word) MarshalJSON() ([]byte, error) { return nullable(string(w)) }

func nullable[T comparable](v T) ([]byte, error) {
	var zero T
	if v == zero {
		return []byte("null"), nil
	}
	return marshal(v)
}

type list[T any] struct {
	Object  string `json:"object"`
	Data    []T    `json:"data"`
	HasMore bool   `json:"has_more"`
	URL     string `json:"url"`
}

func listOf[T any](url string, data ...T) list[T] {
	if data == nil {
		data = []T{}
	}
	return list[T]{Object: "list", Data: data, URL: url}
}

// thing holds the common fields of all objects.
type thing struct {
	ID       string            `json:"id"`
	Object   string            `json:"object"`
	Created  stamp             `json:"created"`
	Livemode bool              `json:"livemode"`
	Metadata map[string]string `json:"metadata"`
}

func (t *thing) id() string  { return t.ID }
func (t *thing) made() int64 { return int64(t.Created) }

type product struct {
	thing
	Active      bool   `json:"active"`
	Description word   `json:"description"`
	Name        string `json:"name"`
	Type        string `json:"type"`
	TaxCode     word   `json:"tax_code"`
	Updated     stamp  `json:"updated"`
}

type recurring struct {
	Interval      string `json:"interval"`
	IntervalCount int64  `json:"interval_count"`
	UsageType     string `json:"usage_type"`
}

type price struct {
	thing
	Active        bool       `json:"active"`
	BillingScheme string     `json:"billing_scheme"`
	Currency      string     `json:"currency"`
	LookupKey     word       `json:"lookup_key"`
	Nickname      word       `json:"nickname"`
	Product       string     `json:"product"`
	Recurring     *recurring `json:"recurring"`
	TaxBehavior   string     `json:"tax_behavior"`
	Type          string     `json:"type"`
	UnitAmount    int64      `json:"unit_amount"`
	UnitDecimal   string     `json:"unit_amount_decimal"`
}

// months returns the price's billing interval in months; 0 for a one-off price.
func (p *price) months() int {
	switch {
	case p.Recurring == nil:
		return 0
	case p.Recurring.Interval == "year":
		return 12 * int(p.Recurring.IntervalCount)
	}
	return int(p.Recurring.IntervalCount)
}

type appliesTo struct {
	Products []string `json:"products"`
}

type coupon struct {
	thing
	AmountOff        number     `json:"amount_off"`
	AppliesTo        *appliesTo `json:"applies_to,omitempty"` // shown when expanded
	Currency         word       `json:"currency"`
	Duration         string     `json:"duration"`
	DurationInMonths number     `json:"duration_in_months"`
	MaxRedemptions   number     `json:"max_redemptions"`
	Name             word       `json:"name"`
	PercentOff       number     `json:"percent_off"`
	RedeemBy         stamp      `json:"redeem_by"`
	TimesRedeemed    int64      `json:"times_redeemed"`
	Valid            bool       `json:"valid"`
}

type discount struct {
	ID           string `json:"id"`
	Object       string `json:"object"`
	Coupon       string `json:"coupon"`
	Customer     string `json:"customer"`
	Start        stamp  `json:"start"`
	End          stamp  `json:"end"`
	Subscription word   `json:"subscription"`
	Session      word   `json:"checkout_session"`
}

type taxRate struct {
	thing
	Active       bool        `json:"active"`
	Country      word        `json:"country"`
	Description  word        `json:"description"`
	DisplayName  string      `json:"display_name"`
	Inclusive    bool        `json:"inclusive"`
	Jurisdiction word        `json:"jurisdiction"`
	Percentage   jsonDecimal `json:"percentage"`
	Effective    jsonDecimal `json:"effective_percentage"`
	State        word        `json:"state"`
	TaxType      word        `json:"tax_type"`
}

type address struct {
	City       word `json:"city"`
	Country    word `json:"country"`
	Line1      word `json:"line1"`
	Line2      word `json:"line2"`
	PostalCode word `json:"postal_code"`
	State      word `json:"state"`
}

type invoiceSettings struct {
	DefaultPaymentMethod word `json:"default_payment_method"`
	Footer               word `json:"footer"`
}

type customer struct {
	thing
	Address         *address        `json:"address"`
	Balance         int64           `json:"balance"`
	Currency        word            `json:"currency"`
	DefaultSource   word            `json:"default_source"`
	Delinquent      bool            `json:"delinquent"`
	Description     word            `json:"description"`
	Discount        *discount       `json:"discount"`
	Email           word            `json:"email"`
	InvoicePrefix   string          `json:"invoice_prefix"`
	InvoiceSettings invoiceSettings `json:"invoice_settings"`
	Name            word            `json:"name"`
	NextInvoice     int64           `json:"next_invoice_sequence"`
	Phone           word            `json:"phone"`
	TaxExempt       string          `json:"tax_exempt"`
	Gone            bool            `json:"sandbox_gone"`
}

type billingDetails struct {
	Address *address `json:"address"`
	Email   word     `json:"email"`
	Name    word     `json:"name"`
	Phone   word     `json:"phone"`
}

type cardDetails struct {
	Brand       string `json:"brand"`
	Country     string `json:"country"`
	ExpMonth    int    `json:"exp_month"`
	ExpYear     int    `json:"exp_year"`
	Fingerprint string `json:"fingerprint"`
	Funding     string `json:"funding"`
	Last4       string `json:"last4"`
}

type paymentMethod struct {
	thing
	BillingDetails billingDetails `json:"billing_details"`
	Card           cardDetails    `json:"card"`
	Customer       word           `json:"customer"`
	Type           string         `json:"type"`
	Number         string         `json:"sandbox_number"`
	Charges        int            `json:"sandbox_charges"` // that it paid
}

type lineItem struct {
	ID          string   `json:"id"`
	Object      string   `json:"object"`
	Discount    int64    `json:"amount_discount"`
	Subtotal    int64    `json:"amount_subtotal"`
	Tax         int64    `json:"amount_tax"`
	Total       int64    `json:"amount_total"`
	Currency    string   `json:"currency"`
	Description string   `json:"description"`
	Price       string   `json:"price"`
	Quantity    int64    `json:"quantity"`
	TaxRates    []string `json:"sandbox_tax_rates"`
}

type totalDetails struct {
	Discount int64 `json:"amount_discount"`
	Shipping int64 `json:"amount_shipping"`
	Tax      int64 `json:"amount_tax"`
}

type enabled struct {
	Enabled bool `json:"enabled"`
}

type customerDetails struct {
	Address *address `json:"address"`
	Email   word     `json:"email"`
	Name    word     `json:"name"`
}

// plannedSale is what a session creates once it is paid.
type plannedSale struct {
	SubscriptionMetadata map[string]string
	TaxRates             []string
	Description          string
	IntentMetadata       map[string]string
	InvoiceMetadata      map[string]string
	Coupon               string
	Intent               string // the payment intent of declined attempts
}

type session struct {
	thing
	Subtotal          int64            `json:"amount_subtotal"`
	Total             int64            `json:"amount_total"`
	CancelURL         word             `json:"cancel_url"`
	ClientReferenceID word             `json:"client_reference_id"`
	Currency          string           `json:"currency"`
	Customer          word             `json:"customer"`
	CustomerDetails   *customerDetails `json:"customer_details"`
	CustomerEmail     word             `json:"customer_email"`
	ExpiresAt         stamp            `json:"expires_at"`
	Invoice           word             `json:"invoice"`
	InvoiceCreation   *enabled         `json:"invoice_creation"`
	LineItems         list[*lineItem]  `json:"line_items"` // shown when expanded
	Locale            word             `json:"locale"`
	Mode              string           `json:"mode"`
	PaymentIntent     word             `json:"payment_intent"`
	PaymentStatus     string           `json:"payment_status"`
	MethodTypes       []string         `json:"payment_method_types"`
	Status            string           `json:"status"`
	Subscription      word             `json:"subscription"`
	SuccessURL        word             `json:"success_url"`
	TotalDetails      totalDetails     `json:"total_details"`
	URL               word             `json:"url"`
	Sale              plannedSale      `json:"sandbox_sale"`
	AddressUpdate     bool             `json:"sandbox_address"`
	Base              string           `json:"sandbox_base"`
}

type subscriptionItem struct {
	thing
	Price        string   `json:"price"`
	Quantity     int64    `json:"quantity"`
	Subscription string   `json:"subscription"`
	TaxRates     []string `json:"tax_rates"`
}

type cancellation struct {
	Comment  word `json:"comment"`
	Feedback word `json:"feedback"`
	Reason   word `json:"reason"`
}

type subscription struct {
	thing
	Anchor               stamp                   `json:"billing_cycle_anchor"`
	CancelAt             stamp                   `json:"cancel_at"`
	CancelAtPeriodEnd    bool                    `json:"cancel_at_period_end"`
	CanceledAt           stamp                   `json:"canceled_at"`
	Cancellation         cancellation            `json:"cancellation_details"`
	CollectionMethod     string                  `json:"collection_method"`
	Currency             string                  `json:"currency"`
	PeriodEnd            stamp                   `json:"current_period_end"`
	PeriodStart          stamp                   `json:"current_period_start"`
	Customer             string                  `json:"customer"`
	DefaultPaymentMethod word                    `json:"default_payment_method"`
	DefaultTaxRates      []string                `json:"default_tax_rates"`
	Description          word                    `json:"description"`
	Discount             *discount               `json:"discount"`
	EndedAt              stamp                   `json:"ended_at"`
	Items                list[*subscriptionItem] `json:"items"`
	LatestInvoice        word                    `json:"latest_invoice"`
	StartDate            stamp                   `json:"start_date"`
	Status               string                  `json:"status"`
	Pending              []*line                 `json:"sandbox_pending"` // prorations of the next invoice
}

func (s *subscription) item() *subscriptionItem { return s.Items.Data[0] }

// ended reports whether the subscription is in a final state.
func (s *subscription) ended() bool { return s.Status == canceled || s.Status == incompleteExpired }

// The states of subscriptions.
const (
	active            = "active"
	pastDue           = "past_due"
	unpaid            = "unpaid"
	canceled          = "canceled"
	incomplete        = "incomplete"
	incompleteExpired = "incomplete_expired"
)

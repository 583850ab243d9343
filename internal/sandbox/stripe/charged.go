package stripe

import "bytes"

// Objects about charges and events, in the form that objects.go describes.

type span struct {
	End   stamp `json:"end"`
	Start stamp `json:"start"`
}

type discountAmount struct {
	Amount   int64  `json:"amount"`
	Discount string `json:"discount"`
}

type taxAmount struct {
	Amount        int64  `json:"amount"`
	Inclusive     bool   `json:"inclusive"`
	TaxRate       string `json:"tax_rate"`
	TaxableAmount int64  `json:"taxable_amount"`
	Reason        string `json:"taxability_reason"`
}

type line struct {
	ID               string            `json:"id"`
	Object           string            `json:"object"`
	Amount           int64             `json:"amount"`
	ExcludingTax     int64             `json:"amount_excluding_tax"`
	Currency         string            `json:"currency"`
	Description      string            `json:"description"`
	DiscountAmounts  []discountAmount  `json:"discount_amounts"`
	Discountable     bool              `json:"discountable"`
	Livemode         bool              `json:"livemode"`
	Metadata         map[string]string `json:"metadata"`
	Period           span              `json:"period"`
	Price            string            `json:"price"`
	Proration        bool              `json:"proration"`
	Quantity         int64             `json:"quantity"`
	Subscription     word              `json:"subscription"`
	SubscriptionItem string            `json:"subscription_item,omitempty"`
	TaxAmounts       []taxAmount       `json:"tax_amounts"`
	TaxRates         []string          `json:"tax_rates"`
	Type             string            `json:"type"`
}

type transitions struct {
	FinalizedAt           stamp `json:"finalized_at"`
	MarkedUncollectibleAt stamp `json:"marked_uncollectible_at"`
	PaidAt                stamp `json:"paid_at"`
	VoidedAt              stamp `json:"voided_at"`
}

type subscriptionDetails struct {
	Metadata map[string]string `json:"metadata"`
}

type invoice struct {
	thing
	AccountCountry      string               `json:"account_country"`
	AmountDue           int64                `json:"amount_due"`
	AmountPaid          int64                `json:"amount_paid"`
	AmountRemaining     int64                `json:"amount_remaining"`
	AttemptCount        int64                `json:"attempt_count"`
	Attempted           bool                 `json:"attempted"`
	AutoAdvance         bool                 `json:"auto_advance"`
	BillingReason       string               `json:"billing_reason"`
	Charge              word                 `json:"charge"`
	CollectionMethod    string               `json:"collection_method"`
	Currency            string               `json:"currency"`
	Customer            string               `json:"customer"`
	CustomerAddress     *address             `json:"customer_address"`
	CustomerEmail       word                 `json:"customer_email"`
	DefaultTaxRates     []string             `json:"default_tax_rates"`
	Discount            *discount            `json:"discount"`
	EndingBalance       *int64               `json:"ending_balance"`
	HostedURL           word                 `json:"hosted_invoice_url"`
	PDF                 word                 `json:"invoice_pdf"`
	Lines               list[*line]          `json:"lines"`
	NextPaymentAttempt  stamp                `json:"next_payment_attempt"`
	Number              word                 `json:"number"`
	Paid                bool                 `json:"paid"`
	PaymentIntent       word                 `json:"payment_intent"`
	PeriodEnd           stamp                `json:"period_end"`
	PeriodStart         stamp                `json:"period_start"`
	StartingBalance     int64                `json:"starting_balance"`
	Status              string               `json:"status"`
	Transitions         transitions          `json:"status_transitions"`
	Subscription        word                 `json:"subscription"`
	SubscriptionDetails *subscriptionDetails `json:"subscription_details"`
	Subtotal            int64                `json:"subtotal"`
	SubtotalNet         int64                `json:"subtotal_excluding_tax"`
	Tax                 int64                `json:"tax"`
	Total               int64                `json:"total"`
	TotalDiscounts      []discountAmount     `json:"total_discount_amounts"`
	TotalNet            int64                `json:"total_excluding_tax"`
	TotalTaxes          []taxAmount          `json:"total_tax_amounts"`
	FinalizesAt         stamp                `json:"sandbox_finalizes_at"`
}

// The states of invoices.
const (
	draft         = "draft"
	open          = "open"
	paid          = "paid"
	void          = "void"
	uncollectible = "uncollectible"
)

type intent struct {
	thing
	Amount         int64    `json:"amount"`
	AmountReceived int64    `json:"amount_received"`
	CanceledAt     stamp    `json:"canceled_at"`
	CancelReason   word     `json:"cancellation_reason"`
	CaptureMethod  string   `json:"capture_method"`
	ClientSecret   string   `json:"client_secret"`
	Currency       string   `json:"currency"`
	Customer       word     `json:"customer"`
	Description    word     `json:"description"`
	Invoice        word     `json:"invoice"`
	LastError      any      `json:"last_payment_error"`
	LatestCharge   word     `json:"latest_charge"`
	PaymentMethod  word     `json:"payment_method"`
	MethodTypes    []string `json:"payment_method_types"`
	Status         string   `json:"status"`
}

type methodDetails struct {
	Card cardDetails `json:"card"`
	Type string      `json:"type"`
}

type outcome struct {
	NetworkStatus string `json:"network_status"`
	Reason        word   `json:"reason"`
	SellerMessage string `json:"seller_message"`
	Type          string `json:"type"`
}

type charge struct {
	thing
	Amount         int64          `json:"amount"`
	AmountCaptured int64          `json:"amount_captured"`
	AmountRefunded int64          `json:"amount_refunded"`
	BillingDetails billingDetails `json:"billing_details"`
	Captured       bool           `json:"captured"`
	Currency       string         `json:"currency"`
	Customer       word           `json:"customer"`
	Description    word           `json:"description"`
	Disputed       bool           `json:"disputed"`
	FailureCode    word           `json:"failure_code"`
	FailureMessage word           `json:"failure_message"`
	Invoice        word           `json:"invoice"`
	Outcome        outcome        `json:"outcome"`
	Paid           bool           `json:"paid"`
	PaymentIntent  word           `json:"payment_intent"`
	PaymentMethod  string         `json:"payment_method"`
	MethodDetails  methodDetails  `json:"payment_method_details"`
	ReceiptURL     word           `json:"receipt_url"`
	Refunded       bool           `json:"refunded"`
	Status         string         `json:"status"`
}

type refund struct {
	thing
	Amount        int64  `json:"amount"`
	Charge        string `json:"charge"`
	Currency      string `json:"currency"`
	PaymentIntent word   `json:"payment_intent"`
	Reason        word   `json:"reason"`
	Status        string `json:"status"`
}

type dispute struct {
	thing
	Amount           int64  `json:"amount"`
	Charge           string `json:"charge"`
	Currency         string `json:"currency"`
	ChargeRefundable bool   `json:"is_charge_refundable"`
	PaymentIntent    word   `json:"payment_intent"`
	Reason           string `json:"reason"`
	Status           string `json:"status"`
}

type webhookEndpoint struct {
	thing
	APIVersion    word     `json:"api_version"`
	Description   word     `json:"description"`
	EnabledEvents []string `json:"enabled_events"`
	Status        string   `json:"status"`
	URL           string   `json:"url"`
	Secret        string   `json:"sandbox_secret"`
}

type eventData struct {
	Object any `json:"object"`
}

type eventRequest struct {
	ID             word `json:"id"`
	IdempotencyKey word `json:"idempotency_key"`
}

type event struct {
	ID              string       `json:"id"`
	Object          string       `json:"object"`
	APIVersion      string       `json:"api_version"`
	Created         stamp        `json:"created"`
	Data            eventData    `json:"data"`
	Livemode        bool         `json:"livemode"`
	PendingWebhooks int          `json:"pending_webhooks"`
	Request         eventRequest `json:"request"`
	Type            string       `json:"type"`
}

func (e *event) id() string  { return e.ID }
func (e *event) made() int64 { return int64(e.Created) }

type portalConfiguration struct {
	thing
	Active           bool           `json:"active"`
	BusinessProfile  map[string]any `json:"business_profile"`
	DefaultReturnURL word           `json:"default_return_url"`
	Features         portalFeatures `json:"features"`
	IsDefault        bool           `json:"is_default"`
	Updated          stamp          `json:"updated"`
}

type portalFeatures struct {
	CustomerUpdate struct {
		AllowedUpdates []string `json:"allowed_updates"`
		Enabled        bool     `json:"enabled"`
	} `json:"customer_update"`
	InvoiceHistory      enabled `json:"invoice_history"`
	PaymentMethodUpdate enabled `json:"payment_method_update"`
	SubscriptionCancel  struct {
		Enabled bool   `json:"enabled"`
		Mode    string `json:"mode"`
		Prorate string `json:"proration_behavior"`
	} `json:"subscription_cancel"`
	SubscriptionPause  enabled `json:"subscription_pause"`
	SubscriptionUpdate struct {
		AllowedUpdates []string `json:"default_allowed_updates"`
		Enabled        bool     `json:"enabled"`
		Prorate        string   `json:"proration_behavior"`
	} `json:"subscription_update"`
}

type portalSession struct {
	thing
	Configuration string `json:"configuration"`
	Customer      string `json:"customer"`
	Locale        word   `json:"locale"`
	ReturnURL     word   `json:"return_url"`
	URL           string `json:"url"`
}

// jsonDecimal is a decimal number that is encoded as a JSON number: 20 or 19.25.
type jsonDecimal string

func (d jsonDecimal) MarshalJSON() ([]byte, error) { return []byte(d), nil }

func (d *jsonDecimal) UnmarshalJSON(b []byte) error {
	*d = jsonDecimal(bytes.Trim(b, `"`))
	return nil
}

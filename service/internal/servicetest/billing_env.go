package servicetest

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v76/webhook"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/billing"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/sandbox/stripe"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/service/accounts"
	purchases "github.com/chainaccess/gateway/service/billing"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store/billingdb"
)

// BillingEnv is an environment that sells through a fake Stripe.
type BillingEnv struct {
	*Env

	Stripe    *stripe.Server
	URL       string // address of the fake Stripe
	Way       *billing.Stripe
	Owner     string // session cookie of ann, who owns the account
	AccountID account.ID

	Mu      sync.Mutex // guards what follows
	Billing *activities.Billing
	Deaf    bool // the workflows cannot be signalled
	Signals []string
}

// Opened is the time of these tests: the founding offer is open.
var Opened = time.Date(2026, time.November, 1, 12, 0, 0, 0, time.UTC)

// WebhookSecret signs the webhooks of the fake Stripe.
const WebhookSecret = "whsec_of_these_tests"

// ErrDeaf is what signals return while flows are away.
var ErrDeaf = errors.New("the flows are away")

// OpenBillingEnv returns an environment with an owner who signed in. Instead of workflows, the
// reconcile that they would run is called directly.
func OpenBillingEnv(t *testing.T) *BillingEnv {
	t.Helper()
	d := &BillingEnv{}
	server, err := stripe.New(stripe.Options{Start: Opened, Seed: 1, WebhookSecret: WebhookSecret, Send: d.Receive})
	if err != nil {
		t.Fatal(err)
	}
	d.Stripe = server
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	d.URL = web.URL
	d.Way, err = billing.New(billing.Options{SecretKey: stripe.DefaultSecretKey, APIURL: web.URL, Now: server.Now})
	if err != nil {
		t.Fatal(err)
	}
	if lines, err := d.Way.SetUp(t.Context(), billing.SetUpOptions{}); err != nil {
		t.Fatalf("set up: %v, %+v", err, lines)
	}
	counts := testkit.Redis(t, testkit.WithClock())
	counts.SetClock(t, time.Until(Opened)) // otherwise purchases would count into a period that has ended by then
	d.Env = OpenEnvOn(t, counts, func(o *service.Options) {
		o.Now, o.Stripe, o.WebhookSecret, o.Contact, o.Purchases = server.Now, d.Way, WebhookSecret,
			"support@gateway.example", d
	})
	d.Billing = &activities.Billing{
		Stripe: d.Way, Record: d.Store, Limits: d.Limits, Now: server.Now, Logger: slog.New(slog.DiscardHandler),
		Mails: Silent{}, Look: d.LookNow, Close: func(context.Context, activities.Closing) error { return nil },
	}
	d.Owner = d.SignIn(t, "ann@buyer.example")
	d.AccountID = d.AccountOf(t, d.Owner)
	return d
}

// Silent ignores failed charges.
type Silent struct{}

// ChargeFailed does nothing.
func (Silent) ChargeFailed(context.Context, activities.FailedCharge) error { return nil }

// AccountOf returns the account of a user who signed in.
func (d *BillingEnv) AccountOf(t *testing.T, cookie string) account.ID {
	t.Helper()
	session := Must[accounts.CurrentSession](t)(d.ShowSession.Invoke(d.Ctx, Browser(cookie), operation.Nothing{}))
	id, err := account.ParseID(session.AccountID)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// Tell records a signal, or fails while flows are away.
func (d *BillingEnv) Tell(word string) error {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	if d.Deaf {
		return ErrDeaf
	}
	d.Signals = append(d.Signals, word)
	return nil
}

// Told reports whether a signal came, and forgets it.
func (d *BillingEnv) Told(word string) bool {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	return slices.Contains(d.Signals, word)
}

// FollowCheckout implements billing.Purchases.
func (d *BillingEnv) FollowCheckout(_ context.Context, c *billingdb.Checkout) error {
	return d.Tell("checkout " + c.ID.String())
}

// LookAgain implements billing.Purchases.
func (d *BillingEnv) LookAgain(_ context.Context, id account.ID, why string) error {
	return d.Tell(why + " " + id.String())
}

// LookNow implements billing.Purchases.
func (d *BillingEnv) LookNow(ctx context.Context, id account.ID) error {
	if err := d.Tell("now"); err != nil {
		return err
	}
	_, err := d.Billing.Reconcile(ctx, id)
	return err
}

// Receive handles a webhook like the HTTP endpoint.
func (d *BillingEnv) Receive(ctx context.Context, payload []byte, signature string) error {
	if d.Env == nil { // during setup
		return nil
	}
	refusal := d.ReceiveStripeEvent(ctx, payload, signature)
	if refusal == nil { // a nil *fault.Error in an error would not be nil
		return nil
	}
	return refusal
}

// Start starts a checkout of an item and returns it with its row.
func (d *BillingEnv) Start(t *testing.T, item string) (purchases.StartedCheckout, billingdb.Checkout) {
	t.Helper()
	started := Must[purchases.StartedCheckout](t)(d.StartCheckout.Invoke(d.Ctx, Browser(d.Owner),
		purchases.StartCheckoutInput{Item: item, Country: "DE"}))
	return started, d.Checkout(t, started.CheckoutID)
}

// Checkout reads a checkout by its id.
func (d *BillingEnv) Checkout(t *testing.T, text string) billingdb.Checkout {
	t.Helper()
	id, err := billingdb.ParseCheckoutID(text)
	if err != nil {
		t.Fatal(err)
	}
	found, err := d.Store.FindCheckout(d.Ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Buy pays for an item and returns as the browser does.
func (d *BillingEnv) Buy(t *testing.T, item string, card stripe.Card) purchases.FinishedCheckout {
	t.Helper()
	started, recorded := d.Start(t, item)
	if err := d.Stripe.Pay(recorded.Session, card); err != nil {
		t.Fatal(err)
	}
	return Must[purchases.FinishedCheckout](t)(d.FinishCheckout.Invoke(d.Ctx, Browser(d.Owner),
		purchases.FinishCheckoutInput{CheckoutID: started.CheckoutID}))
}

// Status returns the owner's billing status.
func (d *BillingEnv) Status(t *testing.T) purchases.BillingStatus {
	t.Helper()
	return Must[purchases.BillingStatus](t)(d.BillingStatus.Invoke(d.Ctx, Browser(d.Owner), operation.Nothing{}))
}

// Invoices returns the owner's invoices.
func (d *BillingEnv) Invoices(t *testing.T) []purchases.InvoiceView {
	t.Helper()
	return Must[purchases.InvoiceList](t)(d.ListInvoices.Invoke(d.Ctx, Browser(d.Owner),
		purchases.ListInvoicesInput{})).Invoices
}

// Dashboard does by hand what support does in Stripe's dashboard, and returns the object.
func (d *BillingEnv) Dashboard(t *testing.T, method, path string, form url.Values) (answer struct {
	ID    string
	Items struct{ Data []struct{ ID string } }
},
) {
	t.Helper()
	r, err := http.NewRequestWithContext(d.Ctx, method, d.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+stripe.DefaultSecretKey)
	r.Header.Set("Stripe-Version", "2023-10-16")
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s, %v", method, path, response.Status, err)
	}
	return answer
}

// Evidence reads a text from PostgreSQL.
func (d *BillingEnv) Evidence(t *testing.T, query string) (text string) {
	t.Helper()
	if err := d.Connect(t).QueryRow(d.Ctx, query).Scan(&text); err != nil {
		t.Fatal(err)
	}
	return text
}

// Post delivers a webhook that is signed with secret.
func (d *BillingEnv) Post(payload, secret string, at time.Time) *fault.Error {
	signed := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{
		Payload: []byte(payload), Secret: secret, Timestamp: at,
	})
	return d.ReceiveStripeEvent(d.Ctx, []byte(payload), signed.Header)
}

// Open returns the events that were not handed on yet.
func (d *BillingEnv) Open(t *testing.T) []string {
	t.Helper()
	all, err := d.Store.ListOpenStripeEvents(d.Ctx, -time.Minute, 100)
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]string, len(all))
	for i, e := range all {
		ids[i] = e.ID
	}
	return ids
}

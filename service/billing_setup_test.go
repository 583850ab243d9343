package service_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/billing"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/sandbox/stripe"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/store/billingdb"
)

// till is an office that sells through a fake Stripe.
type till struct {
	*office

	stripe *stripe.Server
	url    string // address of the fake Stripe
	way    *billing.Stripe
	owner  string // session cookie of ann, who owns the account
	id     account.ID

	mu      sync.Mutex // guards what follows
	books   *activities.Billing
	deaf    bool // the workflows cannot be signalled
	signals []string
}

// opened is the time of these tests: the founding offer is open.
var opened = time.Date(2026, time.November, 1, 12, 0, 0, 0, time.UTC)

const whsec = "whsec_of_these_tests"

var errDeaf = errors.New("the flows are away")

// openTill returns an office with an owner who signed in. Instead of workflows, the reconcile that
// they would run is called directly.
func openTill(t *testing.T) *till {
	t.Helper()
	d := &till{}
	server, err := stripe.New(stripe.Options{Start: opened, Seed: 1, WebhookSecret: whsec, Send: d.receive})
	if err != nil {
		t.Fatal(err)
	}
	d.stripe = server
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	d.url = web.URL
	d.way, err = billing.New(billing.Options{SecretKey: stripe.DefaultSecretKey, APIURL: web.URL, Now: server.Now})
	if err != nil {
		t.Fatal(err)
	}
	if lines, err := d.way.SetUp(t.Context(), billing.SetUpOptions{}); err != nil {
		t.Fatalf("set up: %v, %+v", err, lines)
	}
	counts := testkit.Redis(t, testkit.WithClock())
	counts.SetClock(t, time.Until(opened)) // otherwise purchases would count into a period that has ended by then
	d.office = openOfficeOn(t, counts, func(o *service.Options) {
		o.Now, o.Stripe, o.WebhookSecret, o.Contact, o.Purchases = server.Now, d.way, whsec,
			"support@gateway.example", d
	})
	d.books = &activities.Billing{
		Stripe: d.way, Record: d.store, Fences: d.limits, Now: server.Now, Logger: slog.New(slog.DiscardHandler),
		Mails: silent{}, Look: d.LookNow, Close: func(context.Context, activities.Closing) error { return nil },
	}
	d.owner = d.signIn(t, "ann@buyer.example")
	d.id = d.accountOf(t, d.owner)
	return d
}

// silent ignores failed charges.
type silent struct{}

func (silent) ChargeFailed(context.Context, activities.FailedCharge) error { return nil }

func (d *till) accountOf(t *testing.T, cookie string) account.ID {
	t.Helper()
	session := must[service.CurrentSession](t)(d.ShowSession.Invoke(d.ctx, browser(cookie), service.Nothing{}))
	id, err := account.ParseID(session.AccountID)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (d *till) tell(word string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.deaf {
		return errDeaf
	}
	d.signals = append(d.signals, word)
	return nil
}

func (d *till) told(word string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Contains(d.signals, word)
}

func (d *till) FollowCheckout(_ context.Context, c *billingdb.Checkout) error {
	return d.tell("checkout " + c.ID.String())
}

func (d *till) LookAgain(_ context.Context, id account.ID, why string) error {
	return d.tell(why + " " + id.String())
}

func (d *till) LookNow(ctx context.Context, id account.ID) error {
	if err := d.tell("now"); err != nil {
		return err
	}
	_, err := d.books.Reconcile(ctx, id)
	return err
}

// receive handles a webhook like the HTTP endpoint.
func (d *till) receive(ctx context.Context, payload []byte, signature string) error {
	if d.office == nil { // during setup
		return nil
	}
	refusal := d.ReceiveStripeEvent(ctx, payload, signature)
	if refusal == nil { // a nil *fault.Error in an error would not be nil
		return nil
	}
	return refusal
}

// start starts a checkout of an item and returns it with its row.
func (d *till) start(t *testing.T, item string) (service.StartedCheckout, billingdb.Checkout) {
	t.Helper()
	started := must[service.StartedCheckout](t)(d.StartCheckout.Invoke(d.ctx, browser(d.owner),
		service.StartCheckoutInput{Item: item, Country: "DE"}))
	return started, d.checkout(t, started.CheckoutID)
}

func (d *till) checkout(t *testing.T, text string) billingdb.Checkout {
	t.Helper()
	id, err := billingdb.ParseCheckoutID(text)
	if err != nil {
		t.Fatal(err)
	}
	found, err := d.store.FindCheckout(d.ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// buy pays for an item and returns as the browser does.
func (d *till) buy(t *testing.T, item string, card stripe.Card) service.FinishedCheckout {
	t.Helper()
	started, recorded := d.start(t, item)
	if err := d.stripe.Pay(recorded.Session, card); err != nil {
		t.Fatal(err)
	}
	return must[service.FinishedCheckout](t)(d.FinishCheckout.Invoke(d.ctx, browser(d.owner),
		service.FinishCheckoutInput{CheckoutID: started.CheckoutID}))
}

func (d *till) status(t *testing.T) service.BillingStatus {
	t.Helper()
	return must[service.BillingStatus](t)(d.BillingStatus.Invoke(d.ctx, browser(d.owner), service.Nothing{}))
}

// refused checks the reason and the words of a refusal.
func refused(t *testing.T, what string, refusal *fault.Error, reason fault.Reason, words ...string) {
	t.Helper()
	if refusal == nil || refusal.Reason != reason {
		t.Errorf("%s: %v, want %s", what, refusal, reason)
		return
	}
	for _, word := range words {
		if !strings.Contains(refusal.Message, word) {
			t.Errorf("%s: %q does not say %q", what, refusal.Message, word)
		}
	}
}

package billing_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	stripego "github.com/stripe/stripe-go/v76"
	"github.com/stripe/stripe-go/v76/customer"

	"github.com/chainaccess/gateway/billing"
	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/sandbox/stripe"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/plan"
)

// stripeEnv is a fake Stripe with everything on sale, its client, and a customer.
type stripeEnv struct {
	*stripe.Server
	*billing.Stripe

	owner    account.ID
	customer string
	before   func(*http.Request) // called before each request
	url      string
}

func openStripeEnv(t *testing.T) *stripeEnv {
	t.Helper()
	server, err := stripe.New(stripe.Options{Start: noon, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := &stripeEnv{Server: server, owner: account.NewID(), before: func(*http.Request) {}}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.before(r)
		server.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	s.url = web.URL
	s.Stripe, err = billing.New(billing.Options{SecretKey: stripe.DefaultSecretKey, APIURL: web.URL, Now: server.Now})
	if err != nil {
		t.Fatal(err)
	}
	if lines, err := s.SetUp(t.Context(), billing.SetUpOptions{}); err != nil {
		t.Fatalf("%v: %+v", err, lines)
	}
	if s.customer, err = s.EnsureCustomer(t.Context(), s.owner, "ann@buyer.example", "DE"); err != nil {
		t.Fatal(err)
	}
	return s
}

// sell subscribes the customer to a plan.
func (s *stripeEnv) sell(t *testing.T, customer, key string) {
	t.Helper()
	session, _, err := s.OpenCheckout(t.Context(), &billing.Checkout{
		ID: "c-" + customer, Account: s.owner, Customer: customer, Item: itemOf(t, key), VAT: true,
		SuccessURL: "https://gateway.example/done", CancelURL: "https://gateway.example/",
		Expires: s.Server.Now().Add(time.Hour),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Pay(session, stripe.Visa); err != nil {
		t.Fatal(err)
	}
}

func itemOf(t *testing.T, key string) plan.Item {
	t.Helper()
	item, ok := plan.FindItem(key)
	if !ok {
		t.Fatalf("no item %s", key)
	}
	return item
}

// delete deletes a customer, as in Stripe's dashboard.
func (s *stripeEnv) delete(t *testing.T, id string) {
	t.Helper()
	there := customer.Client{Key: stripe.DefaultSecretKey, B: stripego.GetBackendWithConfig(stripego.APIBackend,
		&stripego.BackendConfig{
			URL: new(s.url), LeveledLogger: &stripego.LeveledLogger{Level: stripego.LevelNull},
		})}
	if _, err := there.Del(id, nil); err != nil {
		t.Fatal(err)
	}
}

func (s *stripeEnv) read(t *testing.T, customer string) subscription.Snapshot {
	t.Helper()
	snapshot, err := s.Snapshot(t.Context(), customer)
	if err != nil {
		t.Fatal(err)
	}
	return snapshot
}

func TestCustomer_DeletedOneIsReportedAndReplaced(t *testing.T) {
	t.Parallel()
	s := openStripeEnv(t)
	s.sell(t, s.customer, "pro_monthly")
	if gone, err := s.CustomerDeleted(t.Context(), s.customer); gone || err != nil {
		t.Errorf("deleted before it was: %t, %v", gone, err)
	}
	s.delete(t, s.customer)
	got := s.read(t, s.customer)
	expect.True(t, got.Deleted)
	expect.Equal(t, got.Customer, s.customer)
	expect.Empty(t, got.Subscriptions)
	if gone, err := s.CustomerDeleted(t.Context(), s.customer); !gone || err != nil {
		t.Errorf("not deleted after it was: %t, %v", gone, err)
	}
	if _, err := s.Snapshot(t.Context(), "cus_of_another_account"); err == nil {
		t.Error("one that never was is taken for deleted")
	}
	next, err := s.ReplaceCustomer(t.Context(), s.owner, s.customer, "ann@buyer.example", "DE")
	if err != nil || next == s.customer {
		t.Fatalf("%s follows %s: %v", next, s.customer, err)
	}
	if again, err := s.ReplaceCustomer(t.Context(), s.owner, s.customer, "", "DE"); err != nil || again != next {
		t.Errorf("a repeat made %s beside %s: %v", again, next, err)
	}
	s.sell(t, next, "pro_monthly")
	if got := s.read(t, next); got.Deleted || len(got.Subscriptions) != 1 {
		t.Errorf("the new one is %+v", got)
	}
}

// A customer who is charged for another month in the second of a downgrade keeps the larger plan
// for that month.
func TestSubscription_DowngradeInTheSecondOfARenewalKeepsWhatWasPaid(t *testing.T) {
	t.Parallel()
	for name, renewsBefore := range map[string]func(*http.Request) bool{
		"before it is read": func(r *http.Request) bool {
			return r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/v1/subscriptions/")
		},
		"between reading and changing it": func(r *http.Request) bool {
			return r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/v1/subscriptions/")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openStripeEnv(t)
			s.sell(t, s.customer, "scale_monthly")
			sub := s.read(t, s.customer).Subscriptions[0]
			s.before = func(r *http.Request) {
				if renewsBefore(r) {
					s.Advance(sub.PeriodEnd.Add(2 * time.Hour))
				}
			}
			if err := s.ChangePrice(t.Context(), billing.Change{
				Subscription: sub.ID, Item: itemOf(t, "pro_monthly"), Held: "scale_monthly",
			}); err != nil {
				t.Fatal(err)
			}
			s.before = func(*http.Request) {}
			now := s.read(t, s.customer)
			got := now.Subscriptions[0]
			if !got.PeriodEnd.After(sub.PeriodEnd) || len(now.Invoices) != 2 {
				t.Fatalf("it was not renewed: %+v", got)
			}
			expect.Equal(t, got.Price, "pro_monthly")
			expect.Equal(t, got.Held, "scale_monthly")
			expect.True(t, got.HeldUntil.Equal(got.PeriodEnd), got.HeldUntil, got.PeriodEnd)
		})
	}
}

// An invoice whose charges failed may be paid by hand long after.
func TestInvoice_IsReadForMoreThanAYear(t *testing.T) {
	t.Parallel()
	s := openStripeEnv(t)
	s.sell(t, s.customer, "builder")
	first := s.read(t, s.customer).Invoices[0]
	s.Advance(noon.AddDate(0, 13, 0))
	for _, v := range s.read(t, s.customer).Invoices {
		if v.ID == first.ID {
			return
		}
	}
	t.Errorf("invoice %s of %s is read no more at %s", first.ID, first.CreatedAt, s.Server.Now())
}

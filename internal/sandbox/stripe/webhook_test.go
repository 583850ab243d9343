package stripe_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	api "github.com/stripe/stripe-go/v76"

	"github.com/chainaccess/gateway/internal/sandbox/stripe"
	"github.com/chainaccess/gateway/internal/testkit/expect"
)

func TestEvents_AreSentInOrderWithTheirObjects(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := b.customer(t, "DE")
	b.told(t)
	sub := b.subscribe(t, u.ID, "pro_monthly", stripe.Visa)
	events := b.told(t)
	want := []string{
		"payment_method.attached", "customer.subscription.created", "invoice.created", "payment_intent.created",
		"invoice.finalized", "charge.succeeded", "payment_intent.succeeded", "invoice.updated", "invoice.paid",
		"invoice.payment_succeeded", "customer.subscription.updated", "checkout.session.completed",
	}
	if got := types(events); !slices.Equal(got, want) {
		t.Fatalf("told of %v, want %v", got, want)
	}
	for _, e := range events {
		if e.APIVersion != api.APIVersion || e.Data.Object["id"] == "" {
			t.Errorf("%s of version %s", e.Type, e.APIVersion)
		}
		for name := range e.Data.Object {
			if strings.HasPrefix(name, "sandbox_") {
				t.Errorf("%s shows %s", e.Type, name)
			}
		}
	}
	made := events[1].Data.Object
	in := expect.In(t, "created")
	expect.Equal[any](in, made["id"], sub.ID)
	expect.Equal[any](in, made["status"], "incomplete")
	expect.Equal[any](in, made["customer"], u.ID)
	stored, err := b.api.Events.Get(events[0].ID, nil)
	must(t, err)
	if stored.Type != events[0].Type {
		t.Errorf("stored as %s", stored.Type)
	}
}

func TestWebhook_UnacknowledgedIsSentAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.told(t)
	b.refuse = 2
	b.customer(t, "DE")
	for _, step := range []struct {
		wait time.Duration
		want int
	}{{0, 0}, {5 * time.Second, 0}, {59 * time.Second, 0}, {time.Second, 1}, {time.Hour, 0}} {
		b.Advance(b.Now().Add(step.wait))
		if got := len(b.told(t)); got != step.want {
			t.Fatalf("after another %s it came %d times, want %d", step.wait, got, step.want)
		}
	}
}

func TestWebhook_PolicyDropsDuplicatesDelaysAndReorders(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := func(p stripe.Policy) []string {
		b.told(t)
		b.SetPolicy(p)
		for range 20 {
			b.customer(t, "DE")
		}
		var all []string
		for _, e := range b.told(t) {
			id, _ := e.Data.Object["id"].(string)
			all = append(all, id)
		}
		b.SetPolicy(stripe.Policy{})
		return all
	}
	plain := ids(stripe.Policy{})
	if len(plain) != 20 {
		t.Fatalf("without a policy %d of 20 came", len(plain))
	}
	if got := ids(stripe.Policy{Drop: 1000}); len(got) != 0 {
		t.Errorf("%d came although all are dropped", len(got))
	}
	if got := ids(stripe.Policy{Drop: 1000, Only: []string{"invoice.paid"}}); len(got) != 20 {
		t.Errorf("%d of another type came", len(got))
	}
	got := ids(stripe.Policy{Duplicate: 1000})
	slices.Sort(got)
	if len(got) != 40 || len(slices.Compact(got)) != 20 {
		t.Errorf("%d came although each comes twice", len(got))
	}
	got = ids(stripe.Policy{Reorder: 1000})
	made := b.order(t, 20)
	if slices.Equal(got, made) || len(got) != 20 {
		t.Error("they came in order")
	}
	if got := ids(stripe.Policy{Delay: time.Hour}); len(got) > 5 {
		t.Errorf("%d came at once", len(got))
	}
	b.Advance(b.Now().Add(time.Hour))
	if got := len(b.told(t)); got < 15 {
		t.Errorf("%d came within the hour", got)
	}
}

// order returns the ids of the last n customers in order of creation.
func (b *bundle) order(t *testing.T, n int) []string {
	t.Helper()
	var ids []string
	list := b.api.Customers.List(&api.CustomerListParams{
		ListParams: api.ListParams{Limit: new(int64(n)), Single: true},
	})
	for list.Next() {
		ids = append([]string{list.Customer().ID}, ids...)
	}
	must(t, list.Err())
	return ids
}

func TestWebhook_EndpointsGetWhatTheyAskedForOverHTTP(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var got []string
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Stripe-Signature"))
	}))
	t.Cleanup(receiver.Close)
	w, err := b.api.WebhookEndpoints.New(&api.WebhookEndpointParams{
		URL: new(receiver.URL), EnabledEvents: api.StringSlice([]string{"customer.created"}),
	})
	must(t, err)
	if !strings.HasPrefix(w.Secret, "whsec_") {
		t.Errorf("secret %q", w.Secret)
	}
	u := b.customer(t, "DE")
	must(t, b.SetCountry(u.ID, "US"))
	b.told(t)
	if len(got) != 1 || !strings.HasPrefix(got[0], "t=1769853600,v1=") {
		t.Errorf("signatures %q", got)
	}
}

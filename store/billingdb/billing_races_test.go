package billingdb_test

import (
	"testing"
	"time"

	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/billingdb"
	"github.com/chainaccess/gateway/store/internal/storetest"
)

// Reads from Stripe finish in any order, and a customer may be replaced meanwhile. The newest
// report about the current customer must win.
func TestCustomer_StripesLatestWordStays(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	id := newOwner(t, s)
	storetest.Must[billingdb.Customer](t)(s.PutCustomer(ctx, id, "cus_1", "AT"))
	said := func(customer, country, last4 string, at time.Time) {
		t.Helper()
		if err := s.UpdateCustomer(ctx, billingdb.Customer{
			Account: id, ID: customer, Country: country, Card: &subscription.Card{Brand: "visa", Last4: last4},
			ReadAt: at,
		}); err != nil {
			t.Fatal(err)
		}
	}
	want := func(customer, country, last4 string) {
		t.Helper()
		c := storetest.Must[billingdb.Customer](t)(s.FindCustomer(ctx, id))
		card := ""
		if c.Card != nil {
			card = c.Card.Last4
		}
		expect.Equal(t, c.ID, customer)
		expect.Equal(t, c.Country, country)
		expect.Equal(t, card, last4)
	}
	said("cus_1", "CH", "4242", billed)
	said("cus_1", "FR", "0002", billed.Add(-time.Second))
	want("cus_1", "CH", "4242")
	if err := s.SetCustomerEvidence(ctx, &billingdb.Customer{Account: id, ID: "cus_1"}, "DE"); err != nil {
		t.Fatal(err)
	}
	want("cus_1", "DE", "4242")
	if c := storetest.Must[billingdb.Customer](t)(s.ReplaceCustomer(ctx, id, "cus_1", "cus_2",
		"IT")); c.ID != "cus_2" ||
		!c.ReadAt.IsZero() {
		t.Errorf("replaced by %+v", c)
	}
	if c := storetest.Must[billingdb.Customer](t)(s.ReplaceCustomer(ctx, id, "cus_1", "cus_3", "US")); c.ID != "cus_2" {
		t.Errorf("replaced twice, by %+v", c)
	}
	said("cus_1", "US", "0341", billed.Add(time.Hour)) // of the replaced customer
	if err := s.SetCustomerEvidence(ctx, &billingdb.Customer{Account: id, ID: "cus_1"}, "US"); err != nil {
		t.Fatal(err)
	}
	want("cus_2", "IT", "")
}

// Keys buy packs. However many checkouts they open, the owner can still buy a plan, and one account
// holds one seat of the offer.
func TestCheckouts_OfPacksKeepNobodyFromAPlan(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	id := newOwner(t, s)
	for range 10 {
		storetest.Must[billingdb.Checkout](t)(s.OpenCheckout(ctx, newCheckout(id, "pack_l", billed)))
	}
	if _, err := s.OpenCheckout(ctx, newCheckout(id, "pack_s", billed)); err == nil {
		t.Error("an eleventh checkout of a pack is open")
	}
	first := storetest.Must[billingdb.Checkout](t)(s.OpenCheckout(ctx, newCheckout(id, plan.Founding().Key, billed)))
	if _, err := s.OpenCheckout(ctx, newCheckout(id, plan.Founding().Key, billed)); err == nil {
		t.Error("an account holds two seats")
	}
	for range 9 {
		storetest.Must[billingdb.Checkout](t)(s.OpenCheckout(ctx, newCheckout(id, "builder", billed)))
	}
	if _, err := s.OpenCheckout(ctx, newCheckout(id, "pro_yearly", billed)); err == nil {
		t.Error("an eleventh checkout of a plan is open")
	}
	storetest.Must[billingdb.Checkout](t)(s.EndCheckout(ctx, first.ID, billingdb.CheckoutExpired, billed))
	storetest.Must[billingdb.Checkout](t)(s.OpenCheckout(ctx, newCheckout(id, plan.Founding().Key, billed)))
}

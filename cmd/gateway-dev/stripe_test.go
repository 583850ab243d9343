package main

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/chainaccess/gateway/billing"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/config"
)

func TestStripe_SandboxSellsNotifiesAndKeepsItsCustomers(t *testing.T) {
	t.Parallel()
	told := make(chan string, 100)
	gateway := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case told <- r.URL.Path + " " + r.Header.Get("Stripe-Signature"):
		default:
		}
	}))
	t.Cleanup(gateway.Close)
	data := t.TempDir()
	var customer string
	for _, again := range []bool{false, true} {
		cfg := config.Config{PublicURL: gateway.URL}
		cards, err := takeCards(t.Context(), &cfg, data, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cards.Close() }) // already closed unless the test failed
		if !cfg.TakesCards() || cfg.StripeWebhookSecret == "" {
			t.Error("the gateway is not told of it")
		}
		way, err := billing.New(billing.Options{
			SecretKey: cfg.StripeSecretKey, APIURL: cfg.StripeAPIURL, Now: time.Now,
		})
		if err != nil {
			t.Fatal(err)
		}
		if lines, err := way.SetUp(t.Context(), billing.SetUpOptions{Check: true}); err != nil {
			t.Errorf("what is sold: %v, %+v", err, lines)
		}
		if again {
			if _, err := way.Snapshot(t.Context(), customer); err != nil {
				t.Errorf("the customer of the first start: %v", err)
			}
		} else if customer, err = way.EnsureCustomer(t.Context(), account.NewID(), "a@b.example", "DE"); err != nil {
			t.Fatal(err)
		}
		if err := cards.Close(); err != nil {
			t.Error(err)
		}
	}
	select {
	case got := <-told:
		if want := "/webhooks/stripe t="; got[:len(want)] != want {
			t.Errorf("told at %s", got)
		}
	case <-time.After(10 * time.Second):
		t.Error("the gateway was not told of anything")
	}
}

// Package stripe stands in for Stripe on one machine: a server that keeps customers, prices,
// checkout sessions, subscriptions, invoices, payments and events in memory and answers the part of
// Stripe's API that the gateway uses, in version 2023-10-16. Its clock stands still until tests
// move it, or follows one; whatever falls due in between happens in order. It signs webhooks and,
// when asked, drops, duplicates, reorders and delays them, and it serves a page of checkout and a
// customer portal that people and browsers can click. No money is worth anything here.
//
// It is stricter than kind: parameters that it does not know are refused, as are requests of other
// API versions, and references are ids unless expanded. What it does differently: invoices of
// renewals are tried four times in three weeks, whatever a dashboard says; the card that declines
// later pays once; subscriptions have one item; there are no taxes but rates of one's own, no
// trials, no schedules and no credit notes.
package stripe

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// Version is the only version of the API that is spoken here.
const Version = "2023-10-16"

// What a server takes by default, public as everything here.
const (
	DefaultSecretKey     = "sk_test_sandbox"    //nolint:gosec // opens nothing
	DefaultWebhookSecret = "whsec_test_sandbox" //nolint:gosec // opens nothing
)

// Options of a Server. Zero values take the defaults named here.
type Options struct {
	// Start is where the clock stands until Advance moves it; 2026-01-01.
	Start time.Time
	// Clock is followed instead when it is set; Advance is not to be called then.
	Clock func() time.Time
	// SecretKey is what requests must carry; DefaultSecretKey.
	SecretKey string
	// WebhookURL is told of every event, signed with WebhookSecret (DefaultWebhookSecret); nobody
	// is told when both WebhookURL and Send are empty.
	WebhookURL, WebhookSecret string
	// Send carries events instead of HTTP; an error means that it has to be tried again.
	Send Sender
	// Seed makes ids and what befalls webhooks repeatable; 0 is a seed like others.
	Seed uint64
	// Policy is what befalls webhooks; nothing.
	Policy Policy
	// File keeps everything between starts; empty: memory only.
	File string
	// Logger gets a line for each webhook that was not taken. Default: discarded.
	Logger *slog.Logger
}

// Server is a Stripe. It is safe for concurrent use, and serves the API (/v1/) and the pages
// (/pay/, /portal/, /invoice/).
type Server struct {
	o    Options
	mux  *http.ServeMux
	http *http.Client

	mu       sync.Mutex // guards what follows
	now      time.Time
	random   *rand.Rand
	policy   Policy
	down     bool
	lose     int // answers that are yet to be lost
	request  eventRequest
	requests map[string]int // by method and pattern
	told     Tally
	changed  bool      // since the last save
	swept    time.Time // when old replies were looked for
	state
}

// state is what there is to keep.
type state struct {
	Now            time.Time                    `json:"now"`
	Products       *table[*product]             `json:"products"`
	Prices         *table[*price]               `json:"prices"`
	Coupons        *table[*coupon]              `json:"coupons"`
	TaxRates       *table[*taxRate]             `json:"tax_rates"`
	Customers      *table[*customer]            `json:"customers"`
	Methods        *table[*paymentMethod]       `json:"payment_methods"`
	Sessions       *table[*session]             `json:"sessions"`
	Subscriptions  *table[*subscription]        `json:"subscriptions"`
	Invoices       *table[*invoice]             `json:"invoices"`
	Intents        *table[*intent]              `json:"intents"`
	Charges        *table[*charge]              `json:"charges"`
	Refunds        *table[*refund]              `json:"refunds"`
	Disputes       *table[*dispute]             `json:"disputes"`
	Endpoints      *table[*webhookEndpoint]     `json:"endpoints"`
	Events         *table[*event]               `json:"events"`
	Configurations *table[*portalConfiguration] `json:"configurations"`
	Portals        *table[*portalSession]       `json:"portals"`
	Timers         timers                       `json:"timers"`
	Queue          []delivery                   `json:"queue"`
	Replies        map[string]reply             `json:"replies"`
	Sequence       int                          `json:"sequence"`
}

func newState() state {
	return state{
		Products: newTable[*product]("product"), Prices: newTable[*price]("price"),
		Coupons: newTable[*coupon]("coupon"), TaxRates: newTable[*taxRate]("tax rate"),
		Customers: newTable[*customer]("customer"), Methods: newTable[*paymentMethod]("PaymentMethod"),
		Sessions: newTable[*session]("checkout.session"), Subscriptions: newTable[*subscription]("subscription"),
		Invoices: newTable[*invoice]("invoice"), Intents: newTable[*intent]("payment_intent"),
		Charges: newTable[*charge]("charge"), Refunds: newTable[*refund]("refund"),
		Disputes: newTable[*dispute]("dispute"), Endpoints: newTable[*webhookEndpoint]("webhook endpoint"),
		Events: newTable[*event]("event"), Configurations: newTable[*portalConfiguration]("configuration"),
		Portals: newTable[*portalSession]("portal session"), Replies: map[string]reply{},
	}
}

// New makes a server; it reads Options.File when there is one.
func New(o Options) (*Server, error) {
	if o.Start.IsZero() {
		o.Start = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	}
	if o.SecretKey == "" {
		o.SecretKey = DefaultSecretKey
	}
	if o.WebhookSecret == "" {
		o.WebhookSecret = DefaultWebhookSecret
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		o: o, http: &http.Client{Timeout: webhookTimeout, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}},
		now: o.Start.UTC().Truncate(time.Second), policy: o.Policy, state: newState(), requests: map[string]int{},
	}
	if err := s.load(); err != nil {
		return nil, err
	}
	s.random = rand.New(rand.NewPCG(o.Seed, uint64(s.Sequence))) //nolint:gosec // repeatable is what it is for
	s.routes()
	return s, nil
}

// ServeHTTP answers requests to the API and shows the pages.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Now is what the server's clock says.
func (s *Server) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follow()
	return s.now
}

// SetDown has the API answer 503 to every request, and no webhook leave, until it is called with
// false.
func (s *Server) SetDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// LoseAnswers has the answers to the next n requests that change something get lost: they are
// carried out, and the connection is cut.
func (s *Server) LoseAnswers(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lose = n
}

// Requests counts the requests to the API by method and path, with ids as in "GET
// /v1/customers/{id}".
func (s *Server) Requests() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := make(map[string]int, len(s.requests))
	maps.Copy(counts, s.requests)
	return counts
}

// errNoSuch is the answer to Go callers that name what there is not.
var errNoSuch = errors.New("there is no such object")

func (s *Server) unix() stamp { return stamp(s.now.Unix()) }

func (s *Server) thing(prefix, object string) thing {
	return thing{ID: s.newID(prefix), Object: object, Created: s.unix(), Metadata: map[string]string{}}
}

func instant(at stamp) time.Time { return time.Unix(int64(at), 0).UTC() }

func dollars(cents int64) string {
	sign := ""
	if cents < 0 {
		sign, cents = "-", -cents
	}
	return fmt.Sprintf("%s$%d.%02d", sign, cents/100, cents%100)
}

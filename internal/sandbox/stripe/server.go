// Package stripe is a fake of Stripe for one machine: a server that keeps customers, prices,
// checkout sessions, subscriptions, invoices, payments and events in memory and serves the part of
// Stripe's API that the gateway uses, in version 2023-10-16. Its clock stands still until a test
// advances it, or follows another clock; whatever falls due in between runs in order. It signs
// webhooks and, if configured, drops, duplicates, reorders and delays them. It serves a checkout
// page and a customer portal for people and browsers. No money has any value here.
//
// It is deliberately strict: it refuses unknown parameters and other API versions, and references
// are ids unless expanded. Differences from Stripe: invoices of renewals are retried four times in
// three weeks, regardless of dashboard settings; the card that declines later pays once;
// subscriptions have one item; taxes are only explicit tax rates; there are no trials, schedules or
// credit notes.
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

// Version is the only supported API version.
const Version = "2023-10-16"

// Default secrets; they are public.
const (
	DefaultSecretKey     = "sk_test_sandbox"    //nolint:gosec // protects nothing
	DefaultWebhookSecret = "whsec_test_sandbox" //nolint:gosec // protects nothing
)

// Options configure a Server.
type Options struct {
	// Start is the initial time of the clock. The default is 2026-01-01.
	Start time.Time
	// Clock, if set, is the clock that the server follows; Advance must not be called then.
	Clock func() time.Time
	// SecretKey authenticates requests. The default is DefaultSecretKey.
	SecretKey string
	// WebhookURL receives all events, signed with WebhookSecret (default DefaultWebhookSecret). No
	// events are sent when WebhookURL and Send are both empty.
	WebhookURL, WebhookSecret string
	// Send delivers events in place of HTTP; when it returns an error, delivery is retried.
	Send Sender
	// Seed makes ids and the effects of Policy reproducible.
	Seed uint64
	// Policy disturbs webhooks. The zero value does not.
	Policy Policy
	// File stores the state between starts; empty means memory only.
	File string
	// Logger receives a line for each webhook that was not accepted. The default discards them.
	Logger *slog.Logger
}

// Server is a fake of Stripe. It is safe for concurrent use. It serves the API (/v1/) and the pages
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
	lose     int // answers still to be lost
	request  eventRequest
	requests map[string]int // by method and pattern
	told     Tally
	changed  bool      // since the last save
	swept    time.Time // when expired replies were last deleted
	state
}

// state is the state that is saved.
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

// New returns a server. It reads Options.File if it exists.
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
	s.random = rand.New(rand.NewPCG(o.Seed, uint64(s.Sequence))) //nolint:gosec // it must be reproducible
	s.routes()
	return s, nil
}

// ServeHTTP serves the API and the pages.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Now returns the time of the server's clock.
func (s *Server) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follow()
	return s.now
}

// SetDown makes the API answer 503 to every request and stops webhooks, until it is called with
// false.
func (s *Server) SetDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// LoseAnswers makes the answers to the next n mutating requests get lost: the requests are
// executed, and the connection is cut.
func (s *Server) LoseAnswers(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lose = n
}

// Requests returns the numbers of API requests by method and path pattern, such as "GET
// /v1/customers/{id}".
func (s *Server) Requests() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := make(map[string]int, len(s.requests))
	maps.Copy(counts, s.requests)
	return counts
}

// errNoSuch is returned to Go callers that name an unknown object.
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

package egress

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/publicsuffix"
)

// Shares of hosts. Whoever owns a domain has any number of names in it, so places go by what is
// registered, while a host that does not answer is known by its own name: beside it in the domain
// others may answer.
const (
	perSite = 4                // requests under way to one site
	awayFor = 30 * time.Second // how long a host that timed out is left alone
	maxAway = 4096             // hosts that are remembered for it
	maxHost = 253              // bytes of a host's name (RFC 1035)
	// bytes of a failure's text, of which strangers may have written most: names, certificates
	maxFailure = 300
)

// ErrAway is that of a host that did not answer in time a moment ago.
var ErrAway = errors.New("a host that did not answer a moment ago, and is left alone for 30 s")

// hosts shares out the places of a client, so that no stranger's service holds them all.
type hosts struct {
	now func() time.Time
	all chan struct{} // a place each for requests of the process

	mu    sync.Mutex           // guards sites and away
	sites map[string]*site     // those with a request under way, or one that waits
	away  map[string]time.Time // until when a host is left alone
}

type site struct {
	places chan struct{}
	users  int
}

func newHosts(now func() time.Time) *hosts {
	return &hosts{
		now: now, all: make(chan struct{}, maxUnderWay), sites: map[string]*site{}, away: map[string]time.Time{},
	}
}

// enter takes a place for a request to a host, which leave gives back. Nobody waits in a place of
// the process for one of the site.
func (h *hosts) enter(ctx context.Context, host string) (leave func(), err error) {
	if h.isAway(host) {
		return nil, ErrAway
	}
	name := siteOf(host)
	s := h.join(name)
	if err := take(ctx, s.places); err != nil {
		h.part(name, s)
		return nil, err
	}
	leaveSite := func() { <-s.places; h.part(name, s) }
	if h.isAway(host) { // it timed out meanwhile
		leaveSite()
		return nil, ErrAway
	}
	if err := take(ctx, h.all); err != nil {
		leaveSite()
		return nil, err
	}
	return func() { <-h.all; leaveSite() }, nil
}

func take(ctx context.Context, places chan struct{}) error {
	select {
	case places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for a place: %w", ctx.Err())
	}
}

func (h *hosts) join(name string) *site {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.sites[name]
	if s == nil {
		s = &site{places: make(chan struct{}, perSite)}
		h.sites[name] = s
	}
	s.users++
	return s
}

func (h *hosts) part(name string, s *site) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.users--; s.users == 0 {
		delete(h.sites, name)
	}
}

func (h *hosts) isAway(host string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	until, known := h.away[host]
	if known && !h.now().Before(until) {
		delete(h.away, host)
		return false
	}
	return known
}

// timedOut leaves a host alone for a while. When too many are remembered this one is not: its
// places bound what it can hold.
func (h *hosts) timedOut(host string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now()
	if len(h.away) >= maxAway {
		for other, until := range h.away {
			if !now.Before(until) {
				delete(h.away, other)
			}
		}
	}
	if len(h.away) < maxAway {
		h.away[host] = now.Add(awayFor)
	}
}

// siteOf is what a host's places go by: the domain that somebody registered, or the address; of
// IPv6 what one customer is given, a /48.
func siteOf(host string) string {
	host = strings.TrimSuffix(host, ".")
	if a, err := netip.ParseAddr(host); err == nil {
		if a.Is6() {
			block, _ := a.WithZone("").Prefix(48)
			return block.String()
		}
		return a.String()
	}
	if domain, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return domain
	}
	return host
}

// failure is an error with bounded text.
type failure struct {
	text  string
	cause error
}

func failed(what, host string, cause error) error {
	text := what + " " + host + ": " + cause.Error()
	if len(text) > maxFailure {
		text = strings.ToValidUTF8(text[:maxFailure], "") + "…"
	}
	return &failure{text, cause}
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.cause }

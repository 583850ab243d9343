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

// Limits per host. Places are counted per registered domain, since its owner can create any number
// of host names. Timeouts are recorded per host name, since other hosts of the domain may answer.
const (
	perSite = 4                // requests in flight to one site
	awayFor = 30 * time.Second // how long a host that timed out is avoided
	maxAway = 4096             // hosts that are remembered after a timeout
	maxHost = 253              // bytes of a host's name (RFC 1035)
	// bytes of an error's text, much of which third parties may control: names, certificates
	maxFailure = 300
)

// ErrAway is returned for a host that timed out less than 30 s ago.
var ErrAway = errors.New("a host that did not answer a moment ago, and is left alone for 30 s")

// hosts shares out the places of a client, so that no third party can occupy all of them.
type hosts struct {
	now func() time.Time
	all chan struct{} // one token per request of the process

	mu    sync.Mutex           // guards sites and away
	sites map[string]*site     // sites with a request in flight or waiting
	away  map[string]time.Time // until when a host is avoided
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

// enter waits for a place for a request to a host; leave releases it. It waits for the site first,
// so that a waiting request does not occupy one of the process's places.
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
	if h.isAway(host) { // it timed out while this request waited
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

// timedOut makes a host be avoided for awayFor. A host is not recorded when maxAway hosts are:
// perSite bounds what it can occupy.
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

// siteOf returns the key by which a host's places are counted: its registered domain, its IPv4
// address, or the /48 of its IPv6 address, which is what one customer is assigned.
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

// failure is an error whose text has a bounded length.
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

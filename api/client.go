package api

import (
	"net/http"
	"net/netip"
	"strings"

	"github.com/chainaccess/gateway/metering/netlimit"
)

// bearer returns the key of the Authorization header, or "" when there is none. The scheme is
// case-insensitive.
func bearer(r *http.Request) string {
	const scheme = "bearer "
	var value string
	if values := r.Header["Authorization"]; len(values) > 0 {
		value = values[0]
	}
	if len(value) <= len(scheme) || !strings.EqualFold(value[:len(scheme)], scheme) {
		return ""
	}
	return strings.TrimSpace(value[len(scheme):])
}

// ClientNetwork returns a function that returns the network that a request's rate limits apply to.
func ClientNetwork(trustedProxies int) func(*http.Request) netip.Prefix {
	return func(r *http.Request) netip.Prefix { return clientNetwork(r, trustedProxies) }
}

// clientNetwork returns the network that rate limits apply to: that of the peer, or of the entry of
// X-Forwarded-For that the configured number of trusted proxies leaves.
func clientNetwork(r *http.Request, trustedProxies int) netip.Prefix {
	if trustedProxies > 0 {
		entries := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		if i := len(entries) - trustedProxies; i >= 0 {
			if a, ok := parseClient(strings.TrimSpace(entries[i])); ok {
				return netlimit.NetworkOf(a)
			}
		}
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Prefix{} // a unix socket has no address: all its clients share one limit
	}
	return netlimit.NetworkOf(peer.Addr())
}

// parseClient parses an entry of X-Forwarded-For. Some proxies add the port.
func parseClient(entry string) (netip.Addr, bool) {
	if a, err := netip.ParseAddr(entry); err == nil {
		return a, true
	}
	a, err := netip.ParseAddrPort(entry)
	return a.Addr(), err == nil
}

package api

import (
	"cmp"
	"encoding/base64"
	"net/http"
	"net/netip"
	"strings"

	"github.com/chainaccess/gateway/metering/netlimit"
)

// keyStart begins every API key.
const keyStart = "cag_"

// bearer returns the key of the Authorization header, or "" when there is none: Bearer and the
// key, the key alone, or Basic with the key as password or, without a password, as user name, which
// is what clients make of https://x:KEY@host. Schemes are case-insensitive.
func bearer(r *http.Request) string {
	const scheme = "bearer "
	var value string
	if values := r.Header["Authorization"]; len(values) > 0 {
		value = values[0]
	}
	switch {
	case len(value) > len(scheme) && strings.EqualFold(value[:len(scheme)], scheme):
		return strings.TrimSpace(value[len(scheme):])
	case strings.HasPrefix(value, keyStart):
		return strings.TrimSpace(value)
	}
	return basicKey(value)
}

// basicKey returns the key in Basic credentials, or "". Other credentials than a key are none: a
// proxy in front of the gateway may have asked for them.
func basicKey(value string) string {
	const scheme = "basic "
	if len(value) <= len(scheme) || !strings.EqualFold(value[:len(scheme)], scheme) {
		return ""
	}
	pair, err := base64.StdEncoding.DecodeString(strings.TrimSpace(value[len(scheme):]))
	if err != nil {
		return ""
	}
	user, password, _ := strings.Cut(string(pair), ":")
	if key := cmp.Or(password, user); strings.HasPrefix(key, keyStart) {
		return key
	}
	return ""
}

// unreadKey reports whether a request without a readable key has credentials, or a key in another
// header or in the address.
func unreadKey(r *http.Request) bool {
	if bearer(r) != "" {
		return false
	}
	if r.Header.Get("Authorization") != "" || strings.Contains(r.RequestURI, keyStart) {
		return true
	}
	for name, values := range r.Header {
		for _, v := range values {
			if name != paymentHeader && strings.HasPrefix(v, keyStart) {
				return true
			}
		}
	}
	return false
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

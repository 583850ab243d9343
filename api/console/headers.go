package console

import "net/http"

// contentPolicy lets a page load what this server serves and nothing else: no other host, no inline
// script or style, no frame.
const contentPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src " +
	"'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// permissions switches off what no page uses.
const permissions = "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), magnetometer=(), " +
	"microphone=(), midi=(), payment=(), publickey-credentials-get=(), usb=()"

// Policies for the Referer header. A page whose own address holds a token names it to nobody, not
// even to this server.
const (
	referrerToSelf = "same-origin"
	referrerNever  = "no-referrer"
)

const (
	// transportSecurity is two years, without subdomains: those are not ours to promise.
	transportSecurity = "max-age=63072000"
	// pageCaching keeps pages out of every cache: they hold a token, and most of them an account's
	// business.
	pageCaching = "no-store"
)

// securityHeaders go out with every answer, assets and errors included.
func securityHeaders(https bool) http.Header {
	h := http.Header{}
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY") // for browsers that do not know frame-ancestors
	h.Set("Referrer-Policy", referrerToSelf)
	h.Set("Permissions-Policy", permissions)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if https {
		h.Set("Strict-Transport-Security", transportSecurity)
	}
	return h
}

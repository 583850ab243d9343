package site

import "net/http"

// contentPolicy lets a page load only what this server serves: no other host, no inline script or
// style, no frame.
const contentPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src " +
	"'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// permissions disables the browser features that no page uses.
const permissions = "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), magnetometer=(), " +
	"microphone=(), midi=(), payment=(), publickey-credentials-get=(), usb=()"

// Referrer policies. A page whose URL holds a token sends no referrer at all, not even to this
// server.
const (
	referrerToSelf = "same-origin"
	referrerNever  = "no-referrer"
)

const (
	// transportSecurity is two years, without subdomains because those may belong to others.
	transportSecurity = "max-age=63072000"
	// pageCaching keeps pages out of every cache: they hold a CSRF token, and most of them account
	// data.
	pageCaching = "no-store"
)

// securityHeaders returns the headers of every answer, including assets and errors.
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

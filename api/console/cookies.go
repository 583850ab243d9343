package console

import (
	"net/http"
	"time"
)

// Names of cookies, without the prefix that HTTPS adds.
const (
	sessionCookie = "session"
	visitorCookie = "visitor" // before sign-in: CSRF tokens are derived from it
	themeCookie   = "theme"
	flashCookie   = "flash"
	signInCookie  = "signin" // a sign-in that waits for its code
)

// hostPrefix makes browsers accept a cookie only over HTTPS, from this exact host, for every path
// (RFC 6265bis, section 4.1.3.2).
const hostPrefix = "__Host-"

// jar sets and reads cookies. Over plain HTTP, which is for development, browsers accept neither
// Secure nor the prefix, so cookies have neither.
type jar struct{ secure bool }

func (j jar) name(name string) string {
	if j.secure {
		return hostPrefix + name
	}
	return name
}

// get returns the value of a cookie, or "" when there is none.
func (j jar) get(r *http.Request, name string) string {
	c, err := r.Cookie(j.name(name))
	if err != nil {
		return ""
	}
	return c.Value
}

// set stores a cookie for lifetime; 0 keeps it until the browser is closed.
func (j jar) set(w http.ResponseWriter, name, value string, lifetime time.Duration) {
	http.SetCookie(w, j.cookie(name, value, int(lifetime/time.Second)))
}

// drop deletes a cookie.
func (j jar) drop(w http.ResponseWriter, name string) { http.SetCookie(w, j.cookie(name, "", -1)) }

func (j jar) cookie(name, value string, maxAge int) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // Secure over HTTPS; see jar
		Name: j.name(name), Value: value, Path: "/", MaxAge: maxAge,
		Secure: j.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
}

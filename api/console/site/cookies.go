package site

import (
	"net/http"
	"time"
)

// Names of cookies, without the prefix that HTTPS adds.
const (
	SessionCookie = "session"
	VisitorCookie = "visitor" // before sign-in: CSRF tokens are derived from it
	themeCookie   = "theme"
	flashCookie   = "flash"
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

// Cookie returns the value of a cookie of the request, or "" when there is none.
func (v *Request) Cookie(name string) string { return v.jar.get(v.R, name) }

// SetCookie stores a cookie for lifetime; 0 keeps it until the browser is closed.
func (v *Request) SetCookie(name, value string, lifetime time.Duration) {
	v.jar.set(v.W, name, value, lifetime)
}

// DropCookie deletes a cookie.
func (v *Request) DropCookie(name string) { v.jar.drop(v.W, name) }

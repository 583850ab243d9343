package console

import (
	"net/http"
	"time"
)

// Names of cookies, without the prefix that https brings.
const (
	sessionCookie = "session"
	visitorCookie = "visitor" // before sign-in: what tokens against forgery hang on
	themeCookie   = "theme"
	flashCookie   = "flash"
	signInCookie  = "signin" // of a sign-in whose mail is under way
)

// hostPrefix makes browsers take a cookie only over https, from this very host, for every path (RFC
// 6265bis, section 4.1.3.2).
const hostPrefix = "__Host-"

// jar sets and reads cookies. Over plain http, which is for development, they go without Secure and
// therefore without the prefix: browsers take neither there.
type jar struct{ secure bool }

func (j jar) name(name string) string {
	if j.secure {
		return hostPrefix + name
	}
	return name
}

// get returns a cookie's value; empty when there is none.
func (j jar) get(r *http.Request, name string) string {
	c, err := r.Cookie(j.name(name))
	if err != nil {
		return ""
	}
	return c.Value
}

// set keeps a cookie for a while; 0 keeps it until the browser is closed.
func (j jar) set(w http.ResponseWriter, name, value string, lifetime time.Duration) {
	http.SetCookie(w, j.cookie(name, value, int(lifetime/time.Second)))
}

// drop ends a cookie.
func (j jar) drop(w http.ResponseWriter, name string) { http.SetCookie(w, j.cookie(name, "", -1)) }

func (j jar) cookie(name, value string, maxAge int) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // Secure wherever https is; see jar
		Name: j.name(name), Value: value, Path: "/", MaxAge: maxAge,
		Secure: j.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
}

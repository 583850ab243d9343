package wire

import (
	"net/http"
	"strings"
)

// Route sends every path that begins with Prefix to a handler other than the API.
type Route struct {
	Prefix  string
	Handler http.Handler
}

// besides puts routes in front of the API. Production has none.
func besides(api http.Handler, routes []Route) http.Handler {
	if len(routes) == 0 {
		return api
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, route := range routes {
			if strings.HasPrefix(r.URL.Path, route.Prefix) {
				route.Handler.ServeHTTP(w, r)
				return
			}
		}
		api.ServeHTTP(w, r)
	})
}

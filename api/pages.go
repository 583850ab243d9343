package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/chainaccess/gateway/internal/fault"
)

// Pages are the pages for browsers. They get the paths that have no route here, and GET of paths
// whose routes here take other methods.
type Pages interface {
	http.Handler
	// Serves reports whether a page answers the request.
	Serves(r *http.Request) bool
	// Public lists the paths of the pages that are the same for everybody.
	Public() []string
	// Navigates reports whether a browser navigates to a page, so that a person reads the answer.
	Navigates(r *http.Request) bool
}

// noRoute answers paths without a route: it serves pages, and to people the page for unknown paths.
func (s *server) noRoute(c *gin.Context) {
	if s.Pages != nil && (s.Pages.Serves(c.Request) || s.Pages.Navigates(c.Request)) {
		s.Pages.ServeHTTP(c.Writer, c.Request)
		return
	}
	s.refuse(c, fault.New(fault.UnknownRoute, ""))
}

// noMethod answers paths whose routes take other methods. GET /keys, for example, is a page in a
// browser.
func (s *server) noMethod(c *gin.Context) {
	if s.Pages != nil && s.Pages.Serves(c.Request) && s.Pages.Navigates(c.Request) {
		c.Writer.Header().Del("Allow") // set for the route
		s.Pages.ServeHTTP(c.Writer, c.Request)
		return
	}
	s.refuse(c, fault.New(fault.MethodNotAllowed, ""))
}

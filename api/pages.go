package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/chainaccess/gateway/internal/fault"
)

// Pages is the browsers' door behind this one. It has the paths that no route here has, and those
// whose GET no route here takes.
type Pages interface {
	http.Handler
	// Serves reports whether a page answers the request.
	Serves(r *http.Request) bool
	// Public lists the paths of the pages that say the same to everybody.
	Public() []string
	// Navigates reports whether a browser asks for a page to show, so that a person reads the
	// answer.
	Navigates(r *http.Request) bool
}

// noRoute is for paths without a route: pages, and for people the page that says that there is
// none.
func (s *server) noRoute(c *gin.Context) {
	if s.Pages != nil && (s.Pages.Serves(c.Request) || s.Pages.Navigates(c.Request)) {
		s.Pages.ServeHTTP(c.Writer, c.Request)
		return
	}
	s.refuse(c, fault.New(fault.UnknownRoute, ""))
}

// noMethod is for paths whose routes take other methods: GET /keys is a page, to browsers.
func (s *server) noMethod(c *gin.Context) {
	if s.Pages != nil && s.Pages.Serves(c.Request) && s.Pages.Navigates(c.Request) {
		c.Writer.Header().Del("Allow") // of the route
		s.Pages.ServeHTTP(c.Writer, c.Request)
		return
	}
	s.refuse(c, fault.New(fault.MethodNotAllowed, ""))
}

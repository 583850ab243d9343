package stripe

import (
	"net/http"
)

func (s *Server) routes() {
	s.mux = http.NewServeMux()
	s.routesOfCatalog()
	s.routesOfCustomers()
	s.routesOfPayments()
	s.routesOfCheckouts()
	s.routesOfSubscriptions()
	s.routesOfInvoices()
	s.routesOfEvents()
	s.routesOfPortal()
	s.routesOfPages()
	s.mux.HandleFunc("/v1/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, &apiError{
			Status: http.StatusNotFound, Type: invalidRequest,
			Message: "Unrecognized request URL (" + r.Method + ": " + r.URL.Path + "). The sandbox may lack it.",
		})
	})
}

// base returns the server's base URL as the client sees it.
func base(r *http.Request) string {
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

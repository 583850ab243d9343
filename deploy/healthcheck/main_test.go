package main

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
)

func TestHealthcheck_OnlyA200IsHealthy(t *testing.T) {
	t.Parallel()
	for status, healthy := range map[int]bool{
		http.StatusOK: true, http.StatusServiceUnavailable: false, http.StatusNoContent: false,
	} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(status)
			}))
			t.Cleanup(server.Close)
			if err := check(t.Context(), server.URL); (err == nil) != healthy {
				t.Errorf("%d: got %v, want healthy to be %v", status, err, healthy)
			}
		})
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	if check(t.Context(), gone.URL) == nil {
		t.Error("a server that is gone is healthy")
	}
}

package sideport

import (
	"encoding/json"
	"net/http"

	"github.com/chainaccess/gateway/relay/upstream"
)

// readiness is the worker's /readyz, in the format of the API's.
type readiness struct {
	Status string            `json:"status"` // ready, or not ready
	Checks map[string]string `json:"checks"` // by check: "ok", or what is wrong
}

// WorkerReadiness returns the handler of the worker's /readyz: whether workflows run, usage is
// flushed and heads are recent. It routes no traffic: old heads are this role's own failure.
func WorkerReadiness(work func() error, pool *upstream.Pool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		said, status := readiness{"ready", map[string]string{"work": "ok"}}, http.StatusOK
		if err := work(); err != nil {
			said.Checks["work"] = err.Error()
		}
		for _, id := range pool.Chains() {
			on, _ := pool.Chain(id)
			said.Checks["chain "+string(id)], _ = on.Heads()
		}
		for _, check := range said.Checks {
			if check != "ok" {
				said.Status, status = "not ready", http.StatusServiceUnavailable
			}
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(said) // the client may have gone
	})
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/chainaccess/gateway/cmd/internal/operator"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/sandbox/thismachine"
	"github.com/chainaccess/gateway/store"
)

// staffPath is the path that grants the staff role on a development gateway.
const staffPath = "/dev/staff"

const (
	staffBody    = 1 << 10
	staffTimeout = 10 * time.Second
)

// staffDesk grants the staff role to the user in a POST of {"email":"…"}, who must have signed in
// once. The host must be an IP address or localhost, and there must be no Origin, so that no web
// page can grant the role.
func staffDesk(cfg config.Config) http.HandlerFunc { //nolint:gocritic // a copy at the start does no harm
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		var asked struct {
			Email string `json:"email"`
		}
		switch {
		case !thismachine.Named(r.Host) || r.Header.Get("Origin") != "":
			http.Error(w, "ask by a program, with an IP address or localhost as the host", http.StatusForbidden)
			return
		case r.Method != http.MethodPost:
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, `POST {"email":"…"}`, http.StatusMethodNotAllowed)
			return
		case json.NewDecoder(http.MaxBytesReader(w, r.Body, staffBody)).Decode(&asked) != nil:
			http.Error(w, `send {"email":"…"}`, http.StatusUnprocessableEntity)
			return
		}
		email, refusal := account.ParseEmail(asked.Email)
		if refusal != nil {
			http.Error(w, refusal.Message, http.StatusUnprocessableEntity)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), staffTimeout)
		defer cancel()
		switch err := operator.AddStaff(ctx, cfg, email); {
		case errors.Is(err, store.ErrNotFound):
			http.Error(w, "nobody has signed in with this address: sign in once, then ask again", http.StatusNotFound)
		case err != nil:
			http.Error(w, "the role could not be given: "+err.Error(), http.StatusServiceUnavailable)
		default:
			fmt.Fprintln(w, "reads and answers tickets at "+cfg.PublicURL+"/staff/tickets")
		}
	}
}

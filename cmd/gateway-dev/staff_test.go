package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/store"
)

func TestStaff_RoleIsGivenToWhoSignedIn(t *testing.T) {
	t.Parallel()
	cfg := config.Config{DatabaseURL: testkit.Postgres(t), PublicURL: "http://127.0.0.1:8080"}
	record, err := store.Open(t.Context(), cfg.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(record.Close)
	desk := staffDesk(cfg)
	ask := func(change func(*http.Request), body string) (int, string) {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, staffPath, strings.NewReader(body))
		r.Host = "127.0.0.1:8080"
		if change != nil {
			change(r)
		}
		w := httptest.NewRecorder()
		desk(w, r)
		return w.Code, w.Body.String()
	}
	const reader = `{"email":"reader@buyer.example"}`
	for name, c := range map[string]struct {
		change func(*http.Request)
		body   string
		status int
	}{
		"by a name that leads here": {
			func(r *http.Request) { r.Host = "rebound.example" }, reader, http.StatusForbidden,
		},
		"by a page": {
			func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:8080") }, reader, http.StatusForbidden,
		},
		"by GET": {
			func(r *http.Request) { r.Method = http.MethodGet }, reader, http.StatusMethodNotAllowed,
		},
		"no JSON":    {nil, "email=reader", http.StatusUnprocessableEntity},
		"no address": {nil, `{"email":"reader"}`, http.StatusUnprocessableEntity},
		"too much": {
			nil, `{"email":"` + strings.Repeat("a", staffBody) + `@buyer.example"}`, http.StatusUnprocessableEntity,
		},
		"somebody unknown": {nil, reader, http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			if status, body := ask(c.change, c.body); status != c.status || body == "" {
				t.Errorf("%d %s", status, body)
			}
		})
	}
	signedIn(t, cfg.DatabaseURL, "reader@buyer.example")
	for range 2 {
		if status, body := ask(nil, reader); status != http.StatusOK ||
			!strings.Contains(body, cfg.PublicURL+"/staff/tickets") {
			t.Errorf("the role: %d %s", status, body)
		}
	}
	all, err := record.ListStaff(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	expect.Equal(t, all[0].Email.Address(), "reader@buyer.example")
}

// signedIn inserts a user who signed in once.
func signedIn(t *testing.T, database, email string) {
	t.Helper()
	db, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close(t.Context()) }()
	if _, err := db.Exec(t.Context(),
		"INSERT INTO users (id, email, email_key, created_at, last_signed_in_at) VALUES ($1, $2, $2, now(), now())",
		uuid.New(), email); err != nil {
		t.Fatal(err)
	}
}

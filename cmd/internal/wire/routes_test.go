package wire

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestDevRoutes_StandBesideTheAPI(t *testing.T) {
	t.Parallel()
	says := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) })
	}
	both := besides(says("api"), []Route{{Prefix: "/dev/mail", Handler: says("mail")}})
	for path, want := range map[string]string{
		"/dev/mail": "mail", "/dev/mail.json": "mail", "/dev/mail/1": "mail",
		"/dev": "api", "/rpc/eth_mainnet": "api", "/": "api",
	} {
		t.Run(path, func(t *testing.T) {
			answer := httptest.NewRecorder()
			both.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
			if answer.Body.String() != want {
				t.Errorf("%s is answered by %s, want %s", path, answer.Body, want)
			}
		})
	}
}

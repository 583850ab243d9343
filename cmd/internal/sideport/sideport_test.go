package sideport

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/telemetry"
)

func TestMetrics_OnLoopbackAnswerOnlyRequestsThatNameThisMachine(t *testing.T) {
	t.Parallel()
	m := telemetry.NewMetrics(nil)
	for _, tc := range []struct {
		host     string
		loopback bool // whether the listener is on loopback
		status   int
	}{
		{"127.0.0.1:9464", true, http.StatusOK},
		{"127.8.9.10", true, http.StatusOK},
		{"localhost:9464", true, http.StatusOK},
		{"LocalHost", true, http.StatusOK},
		{"[::1]:9464", true, http.StatusOK},
		{"[::ffff:127.0.0.1]:9464", true, http.StatusOK},
		{"attacker.example:9464", true, http.StatusForbidden}, // its name may resolve to 127.0.0.1
		{"localhost.attacker.example", true, http.StatusForbidden},
		{"10.0.0.7:9464", true, http.StatusForbidden},
		{"", true, http.StatusForbidden},
		{"api:9464", false, http.StatusOK}, // an operator opened the port; Prometheus uses the host name
	} {
		t.Run(tc.host, func(t *testing.T) {
			for _, path := range []string{"/metrics", "/debug/pprof/", "/debug/pprof/heap"} {
				answer, ask := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, path,
					http.NoBody)
				ask.Host = tc.host
				token := ""
				if !tc.loopback {
					token = profileToken
					ask.Header.Set("Authorization", "Bearer "+token)
				}
				Port{ProfileToken: token, Metrics: m}.handler(tc.loopback).ServeHTTP(answer, ask)
				if answer.Code != tc.status {
					t.Errorf("%s of host %q, loopback %v: %d, want %d", path, tc.host, tc.loopback, answer.Code,
						tc.status)
				}
				if tc.status == http.StatusForbidden && strings.Contains(answer.Body.String(), "goroutine") {
					t.Errorf("a refusal shows %s", answer.Body)
				}
			}
		})
	}
	for address, want := range map[string]bool{
		"127.0.0.1:9464": true, "[::1]:1": true, "[::]:9464": false, "0.0.0.0:9464": false, "10.0.0.7:9464": false,
	} {
		t.Run(address, func(t *testing.T) {
			if isLoopback(address) != want {
				t.Errorf("a listener on %s is loopback: %v", address, !want)
			}
		})
	}
}

const profileToken = "canary-token-of-profiles"

func TestProfiles_NeedATokenOffLoopback(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		token, shown string
		loopback     bool
		status       int
	}{
		"loopback without a token":    {"", "", true, http.StatusOK},
		"loopback with a token":       {profileToken, "", true, http.StatusUnauthorized},
		"elsewhere without a token":   {"", "", false, http.StatusForbidden},
		"elsewhere with an empty one": {"", "Bearer ", false, http.StatusForbidden},
		"elsewhere, none shown":       {profileToken, "", false, http.StatusUnauthorized},
		"elsewhere, another shown":    {profileToken, "Bearer canary-token-of-profile", false, http.StatusUnauthorized},
		"elsewhere, shown":            {profileToken, "Bearer " + profileToken, false, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/goroutine"} {
				answer, ask := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, path,
					http.NoBody)
				ask.Host = "127.0.0.1:9464"
				if tc.shown != "" {
					ask.Header.Set("Authorization", tc.shown)
				}
				Port{ProfileToken: tc.token, Metrics: telemetry.NewMetrics(nil)}.handler(tc.loopback).ServeHTTP(
					answer, ask)
				if answer.Code != tc.status ||
					(tc.status != http.StatusOK && strings.Contains(answer.Body.String(), "canary")) {
					t.Errorf("%s, %s: %d %.200s, want %d", name, path, answer.Code, answer.Body, tc.status)
				}
			}
		})
	}
}

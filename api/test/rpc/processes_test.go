package rpc_test

import (
	"bytes"
	"crypto/rand"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api"
	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
)

// another returns the URL of a second process: its own connections, caches and limits over the same
// servers.
func another(g *apitest.Gateway, change ...func(*apitest.Options)) string {
	g.T.Helper()
	o := apitest.Options{Now: time.Now}
	for _, f := range change {
		f(&o)
	}
	s, err := store.Open(g.T.Context(), g.Database)
	g.Must(err)
	g.T.Cleanup(s.Close)
	m, err := meter.Open(g.T.Context(), g.Redis.URL)
	g.Must(err)
	g.T.Cleanup(func() { _ = m.Close() })
	f := limits.New(s, m, g.Hasher, time.Now)
	log := slog.New(slog.NewJSONHandler(g.Logs, nil))
	server := httptest.NewServer(api.Handler(api.Options{
		Relay: relay.New(relay.Options{
			Pool: g.Pool, Limits: f, Meter: m, Recorder: g.Recorder, Cache: g.NewCache(o), Links: apitest.Links,
			Timeout: apitest.Timeout, MaxAnswer: 1 << 20, Now: time.Now, Logger: log,
		}),
		Capabilities: service.New(service.Options{
			Store: s, Limits: f, Meter: m, Hasher: g.Hasher, Recorder: g.Recorder, PublicURL: "https://gateway.example",
			Now: time.Now, Random: rand.Reader, Logger: log,
		}),
		Limits: f, Meter: m, Store: s, Pool: g.Pool, Links: apitest.Links, PublicURL: "https://gateway.example",
		MaxBodyBytes: 1 << 20, Now: time.Now, Logger: log, Draining: make(chan struct{}),
	}))
	g.T.Cleanup(server.Close)
	return server.URL
}

// hammer sends a call many times in parallel to every URL and counts the answers by status.
func hammer(g *apitest.Gateway, key string, doors []string, callers, each int) (admitted, refused int64) {
	g.T.Helper()
	var ok, no atomic.Int64
	var wg sync.WaitGroup
	for _, door := range doors {
		for range callers {
			wg.Go(func() {
				for range each {
					body := bytes.NewReader([]byte(apitest.Call("eth_call", "[]")))
					req, err := http.NewRequestWithContext(g.T.Context(), http.MethodPost,
						door+"/rpc/"+string(chain.EthMainnet), body)
					if err != nil {
						g.T.Error(err)
						return
					}
					req.Header.Set("Authorization", "Bearer "+key)
					resp, err := http.DefaultClient.Do(req)
					if err != nil {
						g.T.Error(err)
						return
					}
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
					switch resp.StatusCode {
					case http.StatusOK:
						ok.Add(1)
					case http.StatusTooManyRequests:
						no.Add(1)
					default:
						g.T.Errorf("HTTP %d", resp.StatusCode)
					}
				}
			})
		}
	}
	wg.Wait()
	return ok.Load(), no.Load()
}

func TestProcesses_TwoNeverAdmitMoreThanTheDayAllows(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	owner := account.NewID()
	_, err := g.Store.CreateAccount(t.Context(), accountdb.NewAccount{
		ID: owner, Kind: accountdb.KindOwner, Plan: plan.Enterprise,
	})
	g.Must(err)
	key, err := account.MintKey(rand.Reader)
	g.Must(err)
	digest := key.Digest(g.Hasher)
	const allowed = 70
	_, err = g.Store.CreateKey(t.Context(), accountdb.NewKey{
		ID: account.NewKeyID(), Account: owner, Digest: digest[:], Prefix: key.Prefix(), Door: account.DoorAccount,
		Daily: allowed * plan.Unit,
	})
	g.Must(err)
	admitted, refused := hammer(g, g.Remember(key), []string{g.URL, another(g)}, 8, 12)
	if admitted != allowed || admitted+refused != 2*8*12 {
		t.Errorf("%d admitted and %d refused, want %d admitted", admitted, refused, allowed)
	}
	if n := g.Sent("eth_call"); n != allowed {
		t.Errorf("%d calls reached the upstreams", n)
	}
}

func TestProcesses_TwoNeverAdmitMoreThanTheWindowAllows(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	doors := []string{g.URL, another(g)}
	key := g.DoorKey()
	window := plan.Must(plan.Door1).Rate.Window()
	limit := window.Limit
	begun := time.Now()
	admitted, refused := hammer(g, key, doors, 8, 25)
	windows := int64(time.Since(begun)/window.Per) + 2 // the windows in use
	expect.AtMost(t, admitted, limit*windows)
	expect.AtLeast(t, admitted, limit)
	expect.NotEqual(t, refused, 0)
	if strings.Contains(g.Logs.String(), "panic") {
		t.Error("something panicked")
	}
}

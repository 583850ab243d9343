package api_test

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
	"github.com/chainaccess/gateway/identity/account"
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
func (g *gateway) another(change ...func(*options)) string {
	g.t.Helper()
	o := options{now: time.Now}
	for _, f := range change {
		f(&o)
	}
	s, err := store.Open(g.t.Context(), g.database)
	g.must(err)
	g.t.Cleanup(s.Close)
	m, err := meter.Open(g.t.Context(), g.redis.URL)
	g.must(err)
	g.t.Cleanup(func() { _ = m.Close() })
	f := limits.New(s, m, g.hasher, time.Now)
	log := slog.New(slog.NewJSONHandler(g.logs, nil))
	server := httptest.NewServer(api.Handler(api.Options{
		Relay: relay.New(relay.Options{
			Pool: g.pool, Limits: f, Meter: m, Recorder: g.recorder, Cache: g.newCache(o), Links: links,
			Timeout: testTimeout, MaxAnswer: 1 << 20, Now: time.Now, Logger: log,
		}),
		Capabilities: service.New(service.Options{
			Store: s, Limits: f, Meter: m, Hasher: g.hasher, Recorder: g.recorder, PublicURL: "https://gateway.example",
			Now: time.Now, Random: rand.Reader, Logger: log,
		}),
		Limits: f, Meter: m, Store: s, Pool: g.pool, Links: links, PublicURL: "https://gateway.example",
		MaxBodyBytes: 1 << 20, Now: time.Now, Logger: log, Draining: make(chan struct{}),
	}))
	g.t.Cleanup(server.Close)
	return server.URL
}

// hammer sends a call many times in parallel to every URL and counts the answers by status.
func (g *gateway) hammer(key string, doors []string, callers, each int) (admitted, refused int64) {
	g.t.Helper()
	var ok, no atomic.Int64
	var wg sync.WaitGroup
	for _, door := range doors {
		for range callers {
			wg.Go(func() {
				for range each {
					body := bytes.NewReader([]byte(call("eth_call", "[]")))
					req, err := http.NewRequestWithContext(g.t.Context(), http.MethodPost,
						door+"/rpc/"+string(chain.EthMainnet), body)
					if err != nil {
						g.t.Error(err)
						return
					}
					req.Header.Set("Authorization", "Bearer "+key)
					resp, err := http.DefaultClient.Do(req)
					if err != nil {
						g.t.Error(err)
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
						g.t.Errorf("HTTP %d", resp.StatusCode)
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
	g := setup(t)
	owner := account.NewID()
	_, err := g.store.CreateAccount(t.Context(), accountdb.NewAccount{
		ID: owner, Kind: accountdb.KindOwner, Plan: plan.Enterprise,
	})
	g.must(err)
	key, err := account.MintKey(rand.Reader)
	g.must(err)
	digest := key.Digest(g.hasher)
	const allowed = 70
	_, err = g.store.CreateKey(t.Context(), accountdb.NewKey{
		ID: account.NewKeyID(), Account: owner, Digest: digest[:], Prefix: key.Prefix(), Door: account.DoorAccount,
		Daily: allowed * plan.Unit,
	})
	g.must(err)
	admitted, refused := g.hammer(g.remember(key), []string{g.url, g.another()}, 8, 12)
	if admitted != allowed || admitted+refused != 2*8*12 {
		t.Errorf("%d admitted and %d refused, want %d admitted", admitted, refused, allowed)
	}
	if n := g.sent("eth_call"); n != allowed {
		t.Errorf("%d calls reached the upstreams", n)
	}
}

func TestProcesses_TwoNeverAdmitMoreThanTheWindowAllows(t *testing.T) {
	t.Parallel()
	g := setup(t)
	doors := []string{g.url, g.another()}
	key := g.doorKey()
	window := plan.Must(plan.Door1).Rate.Window()
	limit := window.Limit
	begun := time.Now()
	admitted, refused := g.hammer(key, doors, 8, 25)
	windows := int64(time.Since(begun)/window.Per) + 2 // the windows in use
	if admitted > limit*windows || admitted < limit || refused == 0 {
		t.Errorf("%d admitted and %d refused in %d windows of %d", admitted, refused, windows, limit)
	}
	if strings.Contains(g.logs.String(), "panic") {
		t.Error("something panicked")
	}
}

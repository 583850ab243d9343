package wire_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/cmd/internal/wire"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
)

// maxAllocations is the maximum of allocations per relayed call, including everything that serves
// it: HTTP, key, admission, upstream, call record. With the race detector sync.Pool drops some
// objects at random, which adds to it.
const (
	maxAllocations    = 60 + lostToRaceDetector
	maxHitAllocations = 30 + lostToRaceDetector
	maxToolboxHit     = 45 + lostToRaceDetector
	maxUtility        = 45 + lostToRaceDetector
)

// BenchmarkRelayedCall sends reads through the whole API role, wired as in production, on real
// PostgreSQL and Redis. Client and upstream are in this process and allocate nothing per call, so
// only the gateway's allocations are counted. Run it with -benchtime=20000x: shorter runs spread
// one-time allocations over fewer calls. Its rate means little; make bench measures that.
func BenchmarkRelayedCall(b *testing.B) {
	r := startRelayed(b, relayedRead)
	r.send(b, relayedKeys) // load limits and counters, open connections
	b.ReportAllocs()
	b.ResetTimer()
	r.send(b, b.N)
}

// BenchmarkCacheHit is the same for a read from the cache, admitted like any other.
func BenchmarkCacheHit(b *testing.B) {
	r := startRelayed(b, storedRead)
	r.send(b, relayedKeys)
	b.ReportAllocs()
	b.ResetTimer()
	r.send(b, b.N)
}

// BenchmarkToolboxHit is the same for a cached answer of the toolbox.
func BenchmarkToolboxHit(b *testing.B) {
	r := startRelayed(b, gasRecommended)
	r.send(b, relayedKeys)
	b.ReportAllocs()
	b.ResetTimer()
	r.send(b, b.N)
}

// BenchmarkUtility is the same for a tool that needs no chain.
func BenchmarkUtility(b *testing.B) {
	r := startRelayed(b, utility)
	r.send(b, relayedKeys)
	b.ReportAllocs()
	b.ResetTimer()
	r.send(b, b.N)
}

// Nothing else may run in this process while allocations are counted.
func TestRelayedCall_KeepsToItsAllocations(t *testing.T) { //nolint:paralleltest // see above
	keepToAllocations(t, relayedRead, maxAllocations)
}

// A hit saves the upstream's part; the lookup itself allocates nothing.
func TestCacheHit_KeepsToItsAllocations(t *testing.T) { //nolint:paralleltest // see above
	keepToAllocations(t, storedRead, maxHitAllocations)
}

func TestToolboxHit_KeepsToItsAllocations(t *testing.T) { //nolint:paralleltest // see above
	keepToAllocations(t, gasRecommended, maxToolboxHit)
}

func TestUtility_KeepsToItsAllocations(t *testing.T) { //nolint:paralleltest // see above
	keepToAllocations(t, utility, maxUtility)
}

func keepToAllocations(t *testing.T, read request, limit float64) {
	t.Helper()
	const calls = 5000
	r := startRelayed(t, read)
	r.send(t, 4*relayedKeys)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r.send(t, calls)
	runtime.ReadMemStats(&after)
	if got := float64(after.Mallocs-before.Mallocs) / calls; got > limit || got < 1 {
		t.Errorf("%.1f allocations per call, want at most %.0f", got, limit)
	} else {
		t.Logf("%.1f allocations per call", got)
	}
}

const (
	relayedKeys        = 128 // each in its own account, so that no rate limit is reached
	relayedConnections = 16

	storedHash = "0x88df016429689c079f3b2f6ad39fa052532c56795b733da78a91ebe6a713944b"
)

// request is a repeated request and what its answers contain.
type request struct{ line, body, wants string }

// A read that every call relays, one that the first call caches, and tools.
var (
	relayedRead = request{
		"POST /rpc/eth_mainnet",
		`{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":["0x00000000000000000000000000000000000000aa",` +
			`"latest"]}`, `"0xfeed"`,
	}
	storedRead = request{
		"POST /rpc/eth_mainnet", `{"jsonrpc":"2.0","id":1,"method":"eth_getTransactionReceipt","params":["` +
			storedHash + `"]}`, `"0xfeed"`,
	}
	gasRecommended = request{"GET /toolbox/gas/eth_mainnet", "", `"base_fee_per_gas":"1000000000"`}
	utility        = request{
		"GET /toolbox/utils/keccak?text=hello", "",
		"0x1c8aff950685c2ed4bc3174f3472287b56d9517b9c948127319a09a7a36deac8",
	}
)

// relayed is an API role with clients that allocate nothing.
type relayed struct {
	requests [][]byte // one per key
	clients  []*rawClient
}

func startRelayed(t testing.TB, read request) *relayed {
	t.Helper()
	node := startRawUpstream(t)
	cfg := config.Config{
		DatabaseURL: testkit.Postgres(t), RedisURL: testkit.Redis(t).URL,
		KeyPepper: "a pepper of the tests, which is long enough", MetricsAddress: "127.0.0.1:0",
		Contact: "help@example.org", PublicURL: "http://localhost", MaxBodyBytes: 1 << 20, MaxAnswerBytes: 64 << 20,
		CallTimeout: 30 * time.Second, DrainTimeout: patience, CacheBytes: 1 << 20,
	}
	providers := config.Upstreams{Chains: map[string]config.ChainUpstreams{
		string(chain.EthMainnet): {
			Upstreams: []config.Upstream{{Name: "node", URL: "http://" + node, Supply: "public"}},
		},
	}}
	publishProbes(t, cfg, providers)
	listener := listenLocally(t)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- wire.Serve(ctx, cfg, providers, listener, slog.New(slog.DiscardHandler), nil) }()
	r := &relayed{}
	t.Cleanup(func() {
		for _, c := range r.clients {
			_ = c.conn.Close()
		}
		stop()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	address := listener.Addr().String()
	for _, key := range makeKeys(t, cfg) {
		text := fmt.Appendf(nil, "%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n", read.line, address, key)
		if read.body != "" {
			text = fmt.Appendf(text, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(read.body))
		}
		r.requests = append(r.requests, append(text, "\r\n"+read.body...))
	}
	testkit.Eventually(t, patience, func() bool { return isReady(t, "http://"+address+"/readyz") }, "the API is ready")
	for range relayedConnections {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		r.clients = append(r.clients, &rawClient{conn: conn, buffer: make([]byte, 8<<10), wants: []byte(read.wants)})
	}
	return r
}

// send makes n calls, concurrently on all connections.
func (r *relayed) send(t testing.TB, n int) {
	t.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	for _, c := range r.clients {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				if err := c.call(r.requests[i%int64(len(r.requests))]); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// publishProbes publishes on the board what the worker would, so that the API can route.
func publishProbes(t testing.TB, cfg config.Config, providers config.Upstreams) {
	t.Helper()
	pool, err := upstream.NewPool(providers, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	snapshot, err := pool.Probe(t.Context(), chain.EthMainnet)
	if err != nil {
		t.Fatal(err)
	}
	options, err := redis.ParseURL(cfg.RedisURL)
	if err != nil {
		t.Fatal(err)
	}
	rdb := redis.NewClient(options)
	defer func() { _ = rdb.Close() }()
	if err := upstream.NewBoard(rdb).Publish(t.Context(), snapshot); err != nil {
		t.Fatal(err)
	}
}

func makeKeys(t testing.TB, cfg config.Config) []string {
	t.Helper()
	s, err := store.Open(t.Context(), cfg.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	hasher, err := account.NewHasher([]byte(cfg.KeyPepper))
	if err != nil {
		t.Fatal(err)
	}
	keys := make([]string, relayedKeys)
	for i := range keys {
		owner := account.NewID()
		if _, err := s.CreateAccount(t.Context(), accountdb.NewAccount{
			ID: owner, Kind: accountdb.KindOwner, Plan: plan.Enterprise,
		}); err != nil {
			t.Fatal(err)
		}
		key, err := account.MintKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		digest := key.Digest(hasher)
		if _, err := s.CreateKey(t.Context(), accountdb.NewKey{
			ID: account.NewKeyID(), Account: owner, Digest: digest[:], Prefix: key.Prefix(), Door: account.DoorAccount,
			Daily: account.Unlimited,
		}); err != nil {
			t.Fatal(err)
		}
		keys[i] = key.Reveal()
	}
	return keys
}

func listenLocally(t testing.TB) net.Listener {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

func isReady(t testing.TB, url string) bool {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

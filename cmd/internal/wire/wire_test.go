package wire_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/cmd/internal/wire"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/oascheck"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/price"
)

// patience is the timeout of a condition on a busy machine. Normally none takes ten seconds, except
// usage, which waits for its slot of ten seconds to end. It is longer than an activity of one
// minute that is lost on its way to a worker, plus its retry.
const patience = 150 * time.Second

// canary is the credential in every upstream's URL.
const canary = "credential-canary-7f3a"

// buffer is a log that is safe for concurrent use.
type buffer struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// values returns the values of an attribute in log entries with that message.
func (b *buffer) values(msg, attribute string) []string {
	var found []string
	for line := range strings.Lines(b.String()) {
		var fields map[string]any
		if json.Unmarshal([]byte(line), &fields) == nil && fields["msg"] == msg {
			found = append(found, fmt.Sprint(fields[attribute]))
		}
	}
	return found
}

// role is a role that runs concurrently with the test.
type role struct {
	stop context.CancelFunc
	done chan error
}

func start(t *testing.T, run func(context.Context) error) *role {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	r := &role{stop: stop, done: make(chan error, 1)}
	go func() { r.done <- run(ctx) }()
	t.Cleanup(func() { _ = r.end(t) }) // reported by the test that stopped it
	return r
}

// end stops the role and returns its error; nil when it was stopped before.
func (r *role) end(t *testing.T) error {
	t.Helper()
	r.stop()
	select {
	case err, first := <-r.done:
		if first {
			close(r.done)
		}
		return err
	case <-time.After(patience):
		t.Error("the role does not stop")
		return nil
	}
}

// bench is a gateway on servers of its own, with two scripted upstreams of Base.
type bench struct {
	cfg       config.Config
	providers config.Upstreams
	upstreams [2]*testkit.UpstreamServer
	url       string
	client    *http.Client // validates answers against /openapi.json; nil before the API is ready
	log       *buffer
	reloads   [2]chan config.Upstreams // of the worker and of the API
	serve     *role
	work      *role
}

func setup(t *testing.T, changes ...func(*config.Config)) *bench {
	t.Helper()
	temporal := testkit.Temporal(t)
	b := &bench{log: &buffer{}, cfg: config.Config{
		DatabaseURL: testkit.Postgres(t), RedisURL: testkit.Redis(t).URL,
		TemporalAddress: temporal.Address, TemporalNamespace: temporal.Namespace,
		KeyPepper: "a pepper of the tests, which is long enough", MetricsAddress: "127.0.0.1:0",
		Contact: "help@example.org", MaxBodyBytes: 1 << 20, MaxAnswerBytes: 64 << 20, CallTimeout: 30 * time.Second,
		ProbeInterval: 500 * time.Millisecond, DrainTimeout: patience,
	}}
	for _, change := range changes {
		change(&b.cfg)
	}
	var listed []config.Upstream
	for i, name := range []string{"first", "second"} {
		u := testkit.Upstream(t)
		u.On("eth_chainId", testkit.Result("0x2105"))
		u.On("eth_blockNumber", testkit.Result("0x64"))
		u.On("eth_getCode", testkit.Result("0x6001"))
		b.upstreams[i] = u
		listed = append(listed, config.Upstream{
			Name: name, URL: u.URL + "/v2/" + canary, Supply: "public", Price: &price.Setting{USDPerMillion: 1},
			MaxPerSecond: 10_000, Budget: &config.Budget{Units: 1_000_000, Day: 1},
		})
	}
	b.providers = config.Upstreams{Chains: map[string]config.ChainUpstreams{"base_mainnet": {Upstreams: listed}}}

	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b.url = "http://" + listener.Addr().String()
	b.cfg.PublicURL = b.url
	log := telemetry.NewLogger(b.log, "json", slog.LevelDebug)
	b.reloads = [2]chan config.Upstreams{make(chan config.Upstreams), make(chan config.Upstreams)}
	b.work = start(t, func(ctx context.Context) error {
		return wire.Work(ctx, b.cfg, b.providers, false, log, b.reloads[0])
	})
	b.serve = start(t, func(ctx context.Context) error {
		return wire.Serve(ctx, b.cfg, b.providers, listener, log, b.reloads[1])
	})
	testkit.Eventually(t, patience, func() bool {
		status, _ := b.ask(t, http.MethodGet, "/readyz", "", "")
		return status == http.StatusOK
	}, "the API is ready")
	b.client, err = oascheck.Client(t.Context(), b.url, "Refusal", func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// ask sends a request and returns the answer; status 0 when there is none.
func (b *bench) ask(t *testing.T, method, path, key, body string) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, b.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	client := b.client
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(text)
}

func (b *bench) newKey(t *testing.T) string {
	t.Helper()
	status, answer := b.ask(t, http.MethodPost, "/keys", "", "")
	var welcome struct{ Key string }
	if err := json.Unmarshal([]byte(answer), &welcome); status != http.StatusCreated || err != nil {
		t.Fatalf("POST /keys: %d %s", status, answer)
	}
	if _, ok := account.ParseKey(welcome.Key); !ok {
		t.Fatalf("POST /keys gave the key %q", welcome.Key)
	}
	return welcome.Key
}

func (b *bench) call(t *testing.T, key, method, params string, wantStatus int, want string) {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":"my id","method":"` + method + `","params":` + params + `}`
	status, answer := b.ask(t, http.MethodPost, "/rpc/base_mainnet", key, body)
	in := expect.In(t, "%s", method)
	require.Equal(in, status, wantStatus)
	require.Contains(in, answer, `"id":"my id"`)
	require.Contains(in, answer, want)
}

// figures are a number of requests and units in thousandths.
type figures struct{ requests, units int64 }

// sums returns the rows of a query for name, requests and units.
func sums(t *testing.T, databaseURL, query string) map[string]figures {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	rows, err := conn.Query(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]figures{}
	var name string
	var f figures
	if _, err := pgx.ForEachRow(rows, []any{&name, &f.requests, &f.units}, func() error {
		found[name] = f
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return found
}

const (
	usageQuery = `SELECT chain || ' ' || method || ' ' || outcome || ' ' || tier, sum(requests)::bigint, ` +
		`sum(units)::bigint FROM usage_hours GROUP BY 1`
	callsQuery = `SELECT chain || ' ' || method || ' ' || outcome || ' ' || tier, count(*), sum(units)::bigint FROM ` +
		`calls GROUP BY 1`
)

func TestRoles_CallsAreRelayedAndBecomeExactlyTheirUsageRows(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.newKey(t)
	const code = `["0x0000000000000000000000000000000000000001","latest"]`
	b.call(t, key, "eth_getCode", code, http.StatusOK, `"result":"0x6001"`)
	b.call(t, key, "eth_chainId", "[]", http.StatusOK, `"result":"0x2105"`)
	b.call(t, key, "eth_accounts", "[]", http.StatusNotFound, `"code":-32601`)
	status, answer := b.ask(t, http.MethodPost, "/rpc/base_mainnet", key,
		`[{"jsonrpc":"2.0","id":1,"method":"eth_getCode","params":`+code+`},`+
			`{"jsonrpc":"2.0","id":2,"method":"eth_getCode","params":`+code+`}]`)
	if want := `[{"jsonrpc":"2.0","id":1,"result":"0x6001"},{"jsonrpc":"2.0","id":2,"result":"0x6001"}]`; status !=
		http.StatusOK || answer != want {
		t.Fatalf("the batch: %d %s, want %s", status, answer, want)
	}
	want := map[string]figures{
		"base_mainnet eth_getCode ok balanced":     {3, 3000},
		"base_mainnet eth_chainId hit balanced":    {1, 0},
		"base_mainnet  method_not_served balanced": {1, 0},
	}
	for what, query := range map[string]string{"usage": usageQuery, "calls": callsQuery} {
		var got map[string]figures
		testkit.Eventually(t, patience, func() bool {
			got = sums(t, b.cfg.DatabaseURL, query)
			return len(got) >= len(want) && got["base_mainnet eth_getCode ok balanced"].requests >= 3
		}, "%s has the calls: %v", what, &got)
		if !maps.Equal(got, want) {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	if sent := b.upstreams[0].Count("eth_getCode") + b.upstreams[1].Count("eth_getCode"); sent != 3 {
		t.Errorf("%d reads reached the upstreams, want 3", sent)
	}
	b.checkMetrics(t)
	for _, secret := range []string{canary, key, b.cfg.KeyPepper} {
		if strings.Contains(b.log.String(), secret) {
			t.Errorf("the log shows %q", secret)
		}
	}
}

// checkMetrics verifies that the metrics of both roles agree with the rows that were written.
func (b *bench) checkMetrics(t *testing.T) {
	t.Helper()
	all, _ := b.scrape(t)
	for _, want := range []string{
		"gateway_call_records_written_total 5", "gateway_call_records_dropped_total 0",
		"gateway_usage_flush_errors_total 0",
	} {
		if !strings.Contains(all, "\n"+want+"\n") {
			t.Errorf("metrics lack %s", want)
		}
	}
	if strings.Count(all, "\ngateway_usage_buckets_flushed_total 0\n") > 1 {
		t.Error("no role counted a flushed bucket")
	}
}

func TestStop_FinishesWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.newKey(t)
	for _, u := range b.upstreams {
		u.On("eth_call", testkit.Hang(testkit.Result("0xfeed")))
	}
	answered := make(chan string, 1)
	go func() {
		_, answer := b.ask(t, http.MethodPost, "/rpc/base_mainnet", key,
			`{"jsonrpc":"2.0","id":7,"method":"eth_call","params":[{},"latest"]}`)
		answered <- answer
	}()
	testkit.Eventually(t, patience, func() bool {
		return b.upstreams[0].Count("eth_call")+b.upstreams[1].Count("eth_call") == 1
	}, "the call is under way")

	b.serve.stop()
	testkit.Eventually(t, patience, func() bool {
		status, _ := b.ask(t, http.MethodGet, "/readyz", "", "")
		return status != http.StatusOK // connection refused, or not ready
	}, "new requests are turned away")
	select {
	case err := <-b.serve.done:
		t.Fatalf("the API stopped while a call was under way: %v", err)
	default:
	}
	for _, u := range b.upstreams {
		u.Release()
	}
	if answer := <-answered; answer != `{"jsonrpc":"2.0","id":7,"result":"0xfeed"}` {
		t.Errorf("the call under way was answered %s", answer)
	}
	if err := b.serve.end(t); err != nil {
		t.Errorf("serve: %v", err)
	}
	if err := b.work.end(t); err != nil {
		t.Errorf("work: %v", err)
	}
	// Records are written before the API stops, so there is nothing to wait for.
	if got, want := sums(t, b.cfg.DatabaseURL, callsQuery), (figures{
		1, 1000,
	}); got["base_mainnet eth_call ok balanced"] != want {
		t.Errorf("records are %v", got)
	}
}

func TestRoles_NameTheServerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	database := testkit.Postgres(t)
	redis := testkit.Redis(t)
	closed := testkit.ClosedAddress(t)
	log := slog.New(slog.DiscardHandler)
	good := config.Config{
		DatabaseURL: database, RedisURL: redis.URL, KeyPepper: strings.Repeat("p", account.MinPepperBytes),
		MetricsAddress: "127.0.0.1:0", TemporalAddress: closed, TemporalNamespace: "default", DrainTimeout: time.Second,
	}
	for _, tc := range []struct {
		name   string
		change func(*config.Config)
	}{
		{"DATABASE_URL", func(c *config.Config) { c.DatabaseURL = "postgres://u:" + canary + "@" + closed + "/x" }},
		{"DATABASE_URL", func(c *config.Config) {
			c.DatabaseURL = "postgres://u:" + canary + "@" + closed + "/x?sslmode=bogus"
		}},
		{"REDIS_URL", func(c *config.Config) { c.RedisURL = "redis://:" + canary + "@" + closed + "/0" }},
		{"REDIS_URL", func(c *config.Config) { c.RedisURL = "redis://:" + canary + "@" + closed + "/no-number" }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := good
			tc.change(&cfg)
			listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			errs := map[string]error{
				"serve": wire.Serve(t.Context(), cfg, config.Upstreams{}, listener, log, nil),
				"work":  wire.Work(t.Context(), cfg, config.Upstreams{}, false, log, nil),
			}
			_ = listener.Close()
			for role, err := range errs {
				in := expect.In(t, "%s", role)
				require.Error(in, err)
				expect.HasPrefix(in, err.Error(), tc.name)
				expect.NotContains(in, err.Error(), canary)
			}
		})
	}
	short := good
	short.KeyPepper = "short"
	if err := wire.Serve(t.Context(), short, config.Upstreams{}, nil, log, nil); err == nil ||
		!strings.HasPrefix(err.Error(), "KEY_PEPPER") {
		t.Errorf("serve with a short pepper: %v", err)
	}
}

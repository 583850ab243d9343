package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/sandbox"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/oascheck"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
)

// programVariable makes this test binary run as the program.
const programVariable = "GATEWAY_DEV_TEST_BE_THE_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(programVariable) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// patience is the timeout of a start on a busy machine that may still have to build Temporal's
// server.
const patience = 10 * time.Minute

// program returns a command that runs the program without servers from the environment.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...) //nolint:gosec // this test binary
	for _, line := range os.Environ() {
		switch name, _, _ := strings.Cut(line, "="); name {
		case "DATABASE_URL", "REDIS_URL", "TEMPORAL_ADDRESS":
		default:
			cmd.Env = append(cmd.Env, line)
		}
	}
	cmd.Env = append(cmd.Env, programVariable+"=1")
	return cmd
}

func finish(t *testing.T, cmd *exec.Cmd) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func TestHelp_ExplainsEveryFlag(t *testing.T) {
	t.Parallel()
	code, out, errs := finish(t, program(t, "--help"))
	if code != 0 || errs != "" {
		t.Errorf("exit code %d, %q", code, errs)
	}
	if code, out, errs := finish(t, program(t, "pay", "--help")); code != 0 || errs != "" ||
		!strings.Contains(out, "--tier") || !strings.Contains(out, "--url") {
		t.Errorf("pay --help: exit code %d, %q, %s", code, errs, out)
	}
	for _, flag := range []string{"--listen", "--data", "--upstreams", "--plan", "--headless", "pay"} {
		if !strings.Contains(out, flag) {
			t.Errorf("help does not explain %s", flag)
		}
	}
}

// dataDir returns a directory that every user may traverse, unlike those of t.TempDir: PostgreSQL
// runs as another user when the tests run as root.
func dataDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "gateway-dev-test-") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil { //nolint:gosec // PostgreSQL's user passes through
		t.Fatal(err)
	}
	return filepath.Join(dir, "state")
}

func writeFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestStart_FailsWithOneSentenceAndExitCode1(t *testing.T) {
	t.Parallel()
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	const free = "--listen=127.0.0.1:0"
	for _, tc := range []struct {
		name string
		args []string
		want []string
	}{
		{"unknown flag", []string{"--bogus"}, []string{"--bogus"}},
		{"argument", []string{"extra"}, []string{"extra"}},
		{"port taken", []string{"--listen", taken.Addr().String()}, []string{
			"cannot listen on " + taken.Addr().String(), "choose another address with --listen",
		}},
		{"no port", []string{"--listen", "localhost"}, []string{"cannot listen on localhost", "--listen"}},
		{"no such port", []string{"--listen", "127.0.0.1:99999"}, []string{
			"cannot listen on 127.0.0.1:99999", "--listen",
		}},
		{"no upstreams file", []string{
			free, "--upstreams", "/nonexistent.yaml",
		}, []string{"--upstreams", "check its path"}},
		{"no YAML", []string{
			free, "--upstreams", writeFile(t, "chains: ["),
		}, []string{"--upstreams", "line 1", "not valid YAML"}},
		{"unknown plan", []string{free, "--plan", "gold"}, []string{"--plan", "gold", "builder", "enterprise"}},
		{
			"unknown chain",
			[]string{free, "--upstreams", writeFile(t, "chains: {bitcoin: {}}")},
			[]string{"chains.bitcoin: unknown chain", "eth_mainnet"},
		},
		{"state is a file", []string{free, "--data", writeFile(t, "")}, []string{"--data", "choose a folder"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cmd := program(t, tc.args...)
			cmd.Dir = t.TempDir() // its default files go there
			code, out, errs := finish(t, cmd)
			in := expect.In(t, "%s", tc.name)
			expect.Equal(in, code, 1)
			expect.Equal(in, out, "")
			expect.HasPrefix(in, errs, "gateway-dev: ")
			expect.Equal(in, strings.Count(errs, "\n"), 1, errs)
			for _, word := range tc.want {
				if !strings.Contains(errs, word) {
					t.Errorf("%q does not say %q", errs, word)
				}
			}
		})
	}
}

func TestStart_NamesAServerOfTheEnvironmentThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	const canary = "password-canary"
	for name, value := range map[string]string{
		"DATABASE_URL":     "postgres://u:" + canary + "@" + testkit.ClosedAddress(t) + "/x",
		"REDIS_URL":        "redis://:" + canary + "@" + testkit.ClosedAddress(t) + "/0",
		"TEMPORAL_ADDRESS": testkit.ClosedAddress(t),
	} {
		t.Run(name, func(t *testing.T) {
			cmd := program(t, "--listen", "127.0.0.1:0", "--data", dataDir(t))
			cmd.Env = append(cmd.Env, name+"="+value)
			code, out, errs := finish(t, cmd)
			last := errs[strings.LastIndex(strings.TrimSpace(errs), "\n")+1:]
			in := expect.In(t, "%s", name)
			expect.Equal(in, code, 1)
			expect.Equal(in, out, "")
			expect.Contains(in, last, name)
			expect.NotContains(in, errs, canary)
		})
	}
}

// gateway is one run of the program that has become ready.
type gateway struct {
	cmd                *exec.Cmd
	base, ui, key, dir string
	curl               string
}

var readyLine = regexp.MustCompile(`^ready base_url=(http://\S+) temporal_ui=(\S+)$`)

// begin starts the program and reads what it prints when it is ready.
func begin(t *testing.T, dir string) *gateway {
	t.Helper()
	g := &gateway{cmd: program(t, "--listen", "127.0.0.1:0", "--data", dir), dir: dir}
	out, err := g.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var progress bytes.Buffer
	g.cmd.Stderr = &progress
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.cmd.Process.Kill() }) // what it started dies with it
	watchdog := time.AfterFunc(patience, func() { _ = g.cmd.Process.Kill() })
	defer watchdog.Stop()
	lines := bufio.NewScanner(out)
	for lines.Scan() && g.curl == "" {
		line := lines.Text()
		switch {
		case readyLine.MatchString(line):
			m := readyLine.FindStringSubmatch(line)
			g.base, g.ui = m[1], m[2]
		case strings.HasPrefix(line, "key "):
			g.key = strings.TrimPrefix(line, "key ")
		case strings.HasPrefix(line, "curl "):
			g.curl = line
		default:
			t.Errorf("unexpected line %q", line)
		}
		if g.curl != "" {
			break
		}
	}
	if g.base == "" || g.key == "" || g.curl == "" {
		_ = g.cmd.Wait()
		t.Fatalf("no ready, key and curl line: %s", progress.String())
	}
	return g
}

// stop sends the signal and checks that the program and what it started are gone.
func (g *gateway) stop(t *testing.T, signal os.Signal) {
	t.Helper()
	if err := g.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	if err := g.cmd.Wait(); err != nil {
		t.Errorf("after %s: %v, want exit code 0", signal, err)
	}
	for _, address := range []string{g.base, g.ui} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", u.Host); err == nil {
			_ = conn.Close()
			t.Errorf("%s still answers", address)
		}
	}
}

// post sends a body with a key and returns the answer, which must be one that /openapi.json
// declares.
func post(t *testing.T, address, key, body string) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	client, err := oascheck.Client(t.Context(), "http://"+req.URL.Host, "Refusal", func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

var curlLine = regexp.MustCompile(
	`^curl -s (\S+) -H 'Authorization: Bearer (\S+)' -H 'Content-Type: application/json' -d '(.*)'$`)

// runCurl sends the printed request without curl, which is not on every machine.
func (g *gateway) runCurl(t *testing.T) {
	t.Helper()
	m := curlLine.FindStringSubmatch(g.curl)
	require.NotNil(t, m)
	require.Equal(t, m[2], g.key)
	require.HasPrefix(t, m[1], g.base+"/rpc/")
	if status, answer := post(t, m[1], m[2], m[3]); status != http.StatusOK ||
		!strings.Contains(answer, `"result":"0x`) {
		t.Errorf("the printed call: %d %s", status, answer)
	}
}

// wantUsage verifies that within some time there are usage rows for exactly the answered calls: one
// on each chain and the printed one.
func (g *gateway) wantUsage(t *testing.T, within time.Duration) {
	t.Helper()
	read := func(name string) []string {
		text, err := os.ReadFile(filepath.Join(g.dir, "postgres", name))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
	const portLine = 3 // of postmaster.pid, counted from 0
	address := "postgres://gateway:" + read("password")[0] + "@127.0.0.1:" +
		strings.TrimSpace(read("data/postmaster.pid")[portLine]) + "/gateway"
	db, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close(context.Background()) }()
	want := map[string]int64{"eth_mainnet eth_blockNumber": 1}
	for _, c := range chain.BuiltIn().All() {
		method := "eth_gasPrice"
		if c.Family == chain.Solana {
			method = "getBlockHeight"
		}
		want[string(c.ID)+" "+method] = 1
	}
	var got map[string]int64
	testkit.Eventually(t, within, func() bool {
		rows, err := db.Query(t.Context(),
			"SELECT chain || ' ' || method, sum(requests)::bigint FROM usage_hours WHERE outcome IN ('ok', 'hit') "+
				"GROUP BY 1")
		if err != nil {
			t.Fatal(err)
		}
		got = map[string]int64{}
		var words string
		var n int64
		if _, err := pgx.ForEachRow(rows, []any{&words, &n}, func() error {
			got[words] = n
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return maps.Equal(got, want)
	}, "usage rows for exactly the calls that were made")
	if !maps.Equal(got, want) {
		t.Errorf("usage is %v, want %v", got, want)
	}
}

// wantMailbox verifies the pages of caught mails, which are empty until a mail is sent.
func (g *gateway) wantMailbox(t *testing.T) {
	t.Helper()
	for path, want := range map[string]string{"/dev/mail": "Nothing was caught yet", "/dev/mail.json": "[]\n"} {
		resp, err := http.Get(g.base + path) //nolint:noctx // the program is on this machine
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		in := expect.In(t, "%s", path)
		require.NoError(in, err)
		expect.Equal(in, resp.StatusCode, http.StatusOK)
		expect.Contains(in, string(text), want)
	}
}

// wantNames verifies that names of the sandbox resolve, on the chain and through the gateway behind
// it.
func (g *gateway) wantNames(t *testing.T) {
	t.Helper()
	for _, name := range []string{sandbox.ENSAlice, sandbox.ENSCarol} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.base+"/toolbox/ens/resolve/"+name,
			http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+g.key)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		in := expect.In(t, "%s", name)
		require.NoError(in, err)
		expect.Equal(in, resp.StatusCode, http.StatusOK)
		expect.Contains(in, string(text), `"resolved":true`)
	}
}

// wantPaid verifies that a stranger gets from the menu to a call and its receipt.
func (g *gateway) wantPaid(t *testing.T) {
	t.Helper()
	code, out, errs := finish(t, program(t, "pay", "--url", g.base, "--tier", "cheap", "--chain", "solana_mainnet"))
	in := expect.In(t, "pay")
	expect.Equal(in, code, 0)
	expect.Equal(in, errs, "")
	expect.Contains(in, out, "\nredeem   10000 units on cheap until ")
	expect.Contains(in, out, "\ncall     getBlockHeight on solana_mainnet answers ")
	expect.Contains(in, out, "\nreceipt  0.054000 USDC for 10000 units. ")
}

func TestDev_OneCommandServesSixChainsAndKeepsDataOverAStop(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	first := begin(t, dir)
	if _, ok := account.ParseKey(first.key); !ok {
		t.Errorf("the key is %q", first.key)
	}
	first.runCurl(t)
	for _, c := range chain.BuiltIn().All() {
		method := "eth_gasPrice"
		if c.Family == chain.Solana {
			method = "getBlockHeight"
		}
		body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":[]}`
		// The rate limit of a key is five requests a second, so the last chain may have to wait.
		testkit.Eventually(t, time.Minute, func() bool {
			status, answer := post(t, first.base+"/rpc/"+string(c.ID), first.key, body)
			if status != http.StatusOK && status != http.StatusTooManyRequests {
				t.Errorf("%s: %d %s", c.ID, status, answer)
				return true
			}
			return strings.Contains(answer, `"result":`)
		}, "%s answers", c.ID)
	}
	first.wantUsage(t, 15*time.Second)
	first.wantMailbox(t)
	first.wantNames(t)
	first.wantPaid(t)
	first.stop(t, os.Interrupt)

	second := begin(t, dir)
	if second.key == first.key {
		t.Error("the second start prints the first one's key, want a fresh one")
	}
	if status, answer := post(t, second.base+"/rpc/eth_mainnet", first.key,
		`{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}`); status != http.StatusOK {
		t.Errorf("the first start's key is not known to the second: %d %s", status, answer)
	}
	// Only one program at a time can use a folder.
	code, out, errs := finish(t, program(t, "--listen", "127.0.0.1:0", "--data", dir))
	in := expect.In(t, "a second program on the same folder")
	expect.Equal(in, code, 1)
	expect.Equal(in, out, "")
	expect.Equal(in, strings.Count(errs, "\n"), 1, errs)
	expect.Contains(in, errs, dir)
	second.runCurl(t)
	second.stop(t, syscall.SIGTERM)
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

// programVariable makes this test binary run as the program.
const programVariable = "GATEWAY_TEST_BE_THE_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(programVariable) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// patience is the timeout of a condition on a busy machine.
const patience = 150 * time.Second

// canary is part of every secret.
const canary = "secret-canary-secret-canary-secret-canary"

// program returns a command that runs the program with only the given environment.
func program(t *testing.T, env map[string]string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...) //nolint:gosec // this test binary
	cmd.Env = []string{programVariable + "=1"}
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}

// run runs the program to its end.
func run(t *testing.T, env map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := program(t, env, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func upstreamsFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "upstreams.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// environment returns an environment that every role accepts and whose servers do not answer.
func environment(t *testing.T) map[string]string {
	t.Helper()
	closed := testkit.ClosedAddress(t)
	return map[string]string{
		"DATABASE_URL": "postgres://u:" + canary + "@" + closed + "/gateway",
		"REDIS_URL":    "redis://:" + canary + "@" + closed + "/0", "TEMPORAL_ADDRESS": closed, "KEY_PEPPER": canary,
		"LISTEN_ADDRESS": "127.0.0.1:0", "METRICS_ADDRESS": "127.0.0.1:0",
		"UPSTREAMS_FILE": upstreamsFile(t, `chains: {base_mainnet: {upstreams: [{name: a, url: "https://a.example/`+
			canary+`"}]}}`),
	}
}

func TestHelp_ListsTheRoles(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--help"}, {"-h"}, {"help"}, {}} {
		code, out, errs := run(t, nil, args...)
		if code != 0 || errs != "" {
			t.Errorf("%v: exit code %d, %q", args, code, errs)
		}
		for _, role := range []string{"serve", "worker", "migrate", "ops", "check"} {
			if !strings.Contains(out, "\n  "+role) {
				t.Errorf("%v does not list %s", args, role)
			}
		}
	}
	for _, role := range []string{"serve", "worker", "migrate"} {
		if code, out, _ := run(t, nil, role, "--help"); code != 0 || !strings.Contains(out, "gateway "+role) {
			t.Errorf("%s --help: exit code %d, %q", role, code, out)
		}
	}
}

// refused verifies that the program ended with exit code 1 and one line on stderr with every wanted
// word.
func refused(t *testing.T, what string, code int, stdout, stderr string, want ...string) {
	t.Helper()
	in := expect.In(t, "%s", what)
	expect.Equal(in, code, 1)
	expect.Equal(in, stdout, "")
	expect.HasPrefix(in, stderr, "gateway: ")
	expect.Equal(in, strings.Count(stderr, "\n"), 1, stderr)
	for _, word := range want {
		if !strings.Contains(stderr, word) {
			t.Errorf("%s: %q does not say %q", what, stderr, word)
		}
	}
	if strings.Contains(stderr, canary) {
		t.Errorf("%s: %q shows a secret", what, stderr)
	}
}

func TestMain_BadCommandLineIsOneSentenceAndExitCode1(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"bogus"}, "bogus"},
		{[]string{"serve", "--bogus"}, "--bogus"},
		{[]string{"serve", "extra"}, "extra"},
		{[]string{"worker", "extra"}, "extra"},
		{[]string{"migrate"}, "1 arg"},
		{[]string{"migrate", "sideways"}, "sideways"},
		{[]string{"migrate", "up", "down"}, "1 arg"},
	} {
		t.Run(tc.want, func(t *testing.T) {
			code, out, errs := run(t, environment(t), tc.args...)
			refused(t, strings.Join(tc.args, " "), code, out, errs, tc.want)
		})
	}
}

func TestMain_MissingVariableIsNamed(t *testing.T) {
	t.Parallel()
	for role, needed := range map[string][]string{
		"serve":      {"DATABASE_URL", "REDIS_URL", "UPSTREAMS_FILE", "TEMPORAL_ADDRESS", "KEY_PEPPER"},
		"worker":     {"DATABASE_URL", "REDIS_URL", "UPSTREAMS_FILE", "TEMPORAL_ADDRESS", "KEY_PEPPER"},
		"migrate up": {"DATABASE_URL"},
	} {
		t.Run(role, func(t *testing.T) {
			for _, name := range needed {
				env := environment(t)
				delete(env, name)
				code, out, errs := run(t, env, strings.Fields(role)...)
				refused(t, role+" without "+name, code, out, errs, name+" is not set")
			}
			code, out, errs := run(t, nil, strings.Fields(role)...)
			in := expect.In(t, "%s without any", role)
			expect.Equal(in, code, 1)
			expect.Equal(in, out, "")
			expect.Equal(in, strings.Count(errs, "\n"), len(needed), errs)
		})
	}
}

func TestMain_BadConfigurationIsOneSentenceAndExitCode1(t *testing.T) {
	t.Parallel()
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	for _, tc := range []struct {
		role, variable, value string
		want                  []string
	}{
		{"serve", "CALL_TIMEOUT", "canary", []string{"CALL_TIMEOUT must be a duration"}},
		{"serve", "KEY_PEPPER", "short", []string{"KEY_PEPPER must be at least 32"}},
		{"worker", "PROBE_INTERVAL", "1ms", []string{"PROBE_INTERVAL must be between"}},
		{"serve", "LISTEN_ADDRESS", taken.Addr().String(), []string{"LISTEN_ADDRESS", "choose a free port"}},
		{"serve", "UPSTREAMS_FILE", "/nonexistent/upstreams.yaml", []string{"UPSTREAMS_FILE", "check its path"}},
		{"worker", "UPSTREAMS_FILE", upstreamsFile(t, "chains: ["+canary), []string{
			"UPSTREAMS_FILE", "line 1", "not valid YAML",
		}},
		{"worker", "UPSTREAMS_FILE", upstreamsFile(t, "chains: {bitcoin: {}}"), []string{
			"chains.bitcoin: unknown chain", "eth_mainnet",
		}},
		{
			"serve", "UPSTREAMS_FILE",
			upstreamsFile(t, `chains: {eth_mainnet: {upstreams: [{name: a, url: "https://a.example/${ABSENT_KEY}"}]}}`),
			[]string{"ABSENT_KEY is not set"},
		},
	} {
		t.Run(tc.role, func(t *testing.T) {
			env := environment(t)
			env[tc.variable] = tc.value
			code, out, errs := run(t, env, tc.role)
			refused(t, tc.role+" with "+tc.variable, code, out, errs, tc.want...)
		})
	}
}

func TestMain_NamesAServerThatDoesNotAnswerWithoutItsPassword(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"serve"}, {"worker"}, {"migrate", "up"}, {"migrate", "status"}, {"migrate", "down"},
	} {
		code, out, errs := run(t, environment(t), args...)
		in := expect.In(t, "%v", args)
		expect.Equal(in, code, 1)
		expect.Equal(in, out, "")
		expect.HasPrefix(in, errs, "gateway: ")
		expect.NotContains(in, errs, canary)
		if args[0] != "migrate" && !strings.Contains(errs, "DATABASE_URL") {
			t.Errorf("%v: %q does not name DATABASE_URL", args, errs)
		}
	}
}

// service is a role in a process of its own.
type service struct {
	cmd *exec.Cmd
	// address is its listen address, taken from its log; empty for the worker.
	address string
	logs    *lines
}

// lines is the output of a process. It is safe for concurrent use.
type lines struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

func (l *lines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.WriteString(line + "\n")
}

// String returns the whole output.
func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// begin starts a role and waits until its log has the message, which may contain an address.
func begin(t *testing.T, env map[string]string, role, message string) *service {
	t.Helper()
	cmd := program(t, env, role)
	logs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	told, written := make(chan string, 1), &lines{}
	go func() {
		defer close(told)
		for scanned := bufio.NewScanner(logs); scanned.Scan(); {
			written.add(scanned.Text())
			var fields struct{ Msg, Address string }
			if json.Unmarshal(scanned.Bytes(), &fields) == nil && fields.Msg == message {
				select {
				case told <- fields.Address:
				default:
				}
			}
		}
	}()
	select {
	case address, ok := <-told:
		if !ok {
			t.Fatalf("%s ended before it said %q", role, message)
		}
		return &service{cmd: cmd, address: address, logs: written}
	case <-time.After(patience):
		t.Fatalf("%s does not say %q", role, message)
		return nil
	}
}

func (s *service) terminate(t *testing.T) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v, want exit code 0", err)
	}
}

func TestMain_RolesRunTogetherUntilSIGTERM(t *testing.T) {
	t.Parallel()
	temporal, up := testkit.Temporal(t), testkit.Upstream(t)
	up.On("eth_chainId", testkit.Result("0x2105"))
	up.On("eth_blockNumber", testkit.Result("0x64"))
	env := environment(t)
	env["DATABASE_URL"], env["REDIS_URL"] = testkit.EmptyPostgres(t), testkit.Redis(t).URL
	env["TEMPORAL_ADDRESS"], env["TEMPORAL_NAMESPACE"] = temporal.Address, temporal.Namespace
	env["UPSTREAM_KEY"], env["PROBE_INTERVAL"] = canary, "500ms"
	env["UPSTREAMS_FILE"] = upstreamsFile(t,
		fmt.Sprintf(`chains: {base_mainnet: {upstreams: [{name: a, url: "%s/v2/${UPSTREAM_KEY}"}]}}`, up.URL))

	code, out, errs := run(t, env, "migrate", "up")
	in := expect.In(t, "migrate up")
	require.Equal(in, code, 0)
	require.NotEqual(in, out, "")
	require.Equal(in, errs, "")
	code, out, _ = run(t, env, "migrate", "status")
	require.Equal(t, code, 0)
	require.NotContains(t, out, "pending")
	require.Contains(t, out, "applied")
	worker := begin(t, env, "worker", "durable work runs")
	api := begin(t, env, "serve", "serving")
	testkit.Eventually(t, patience, func() bool { return ready(t, api.address) }, "the API is ready")
	api.terminate(t)
	worker.terminate(t)
	if got := up.Requests()[0].Path; got != "/v2/"+canary {
		t.Errorf("the upstream was asked at %s", got)
	}
}

func ready(t *testing.T, address string) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", http.NoBody)
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

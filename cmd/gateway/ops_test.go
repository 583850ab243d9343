package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/upstream"
)

// baseNode returns a scripted upstream of Base with its own answer to eth_getCode.
func baseNode(t *testing.T, word string) *testkit.UpstreamServer {
	t.Helper()
	u := testkit.Upstream(t)
	u.On("eth_chainId", testkit.Result("0x2105"))
	u.On("eth_blockNumber", testkit.Result("0x64"))
	u.On("eth_getCode", testkit.Result(word))
	return u
}

func nodesFile(nodes map[string]*testkit.UpstreamServer) string {
	var b strings.Builder
	b.WriteString("chains:\n  base_mainnet:\n    upstreams:\n")
	for name, u := range nodes {
		fmt.Fprintf(&b, "      - name: %s\n        url: %s/v2/%s\n", name, u.URL, canary)
	}
	return b.String()
}

// post returns the API's answer.
func post(t *testing.T, address, path, key, body string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	text, _ := io.ReadAll(resp.Body) // a partial body shows in the failure
	return string(text)
}

// code requests a contract's code until an answer contains want. The calls may hit the key's rate
// limit.
func code(t *testing.T, address, key, want string) {
	t.Helper()
	var answer string
	testkit.Eventually(t, patience, func() bool {
		answer = post(t, address, "/rpc/base_mainnet", key,
			`{"jsonrpc":"2.0","id":1,"method":"eth_getCode","params":["0x0000000000000000000000000000000000000001",`+
				`"latest"]}`)
		return strings.Contains(answer, want)
	}, "an answer with %s, not %s", want, &answer)
}

// spaces matches the padding of a table.
var spaces = regexp.MustCompile(` {2,}`)

func TestOpsCommand_SteersARunningGateway(t *testing.T) {
	t.Parallel()
	temporal := testkit.Temporal(t)
	one, two := baseNode(t, "0x01"), baseNode(t, "0x02")
	env := environment(t)
	env["DATABASE_URL"], env["REDIS_URL"] = testkit.EmptyPostgres(t), testkit.Redis(t).URL
	env["TEMPORAL_ADDRESS"], env["TEMPORAL_NAMESPACE"], env["PROBE_INTERVAL"] = temporal.Address, temporal.Namespace,
		"500ms"
	env["UPSTREAMS_FILE"] = upstreamsFile(t, nodesFile(map[string]*testkit.UpstreamServer{"one": one}))
	ops := map[string]string{"REDIS_URL": env["REDIS_URL"], "UPSTREAMS_FILE": env["UPSTREAMS_FILE"]}
	table := func(args ...string) string {
		t.Helper()
		code, out, errs := run(t, ops, append([]string{"ops", "upstreams"}, args...)...)
		in := expect.In(t, "ops upstreams %v", args)
		require.Equal(in, code, 0)
		require.Equal(in, errs, "")
		require.NotContains(in, out, canary)
		return spaces.ReplaceAllString(out, " | ")
	}

	if got := table(); !strings.Contains(got, "| unmeasured |") {
		t.Errorf("before anything runs the table is\n%s", got)
	}
	if exit, _, errs := run(t, env, "migrate", "up"); exit != 0 {
		t.Fatal(errs)
	}
	worker := begin(t, env, "worker", "durable work runs")
	api := begin(t, env, "serve", "serving")
	testkit.Eventually(t, patience, func() bool { return ready(t, api.address) }, "the API is ready")
	var welcome struct{ Key string }
	if err := json.Unmarshal([]byte(post(t, api.address, "/keys", "", "")), &welcome); err != nil {
		t.Fatal(err)
	}
	code(t, api.address, welcome.Key, `"0x01"`)

	var rows []upstream.Overview
	testkit.Eventually(t, patience, func() bool {
		_, out, _ := run(t, ops, "ops", "upstreams", "--json", "--chain", "base_mainnet")
		if err := json.Unmarshal([]byte(out), &rows); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return len(rows) == 1 && rows[0].State == upstream.StateUsable && rows[0].Processes == 1 && rows[0].Calls > 0
	}, "the API's figures are in the table: %+v", &rows)
	for _, want := range []string{
		"CHAIN | UPSTREAM | SUPPLY | SCORE | P50 | P95 | ERRORS | CALLS | DISAGREED | LAG | LOGS | RATE | BUDGET | ",
		" | STATE | CAN\n",
		"base_mainnet | one | public | ", " | 0.0 % | ", " | 0 | - | - | - | usable | ",
	} {
		if got := table(); !strings.Contains(got, want) {
			t.Errorf("the table lacks %q:\n%s", want, got)
		}
	}

	// An error that no rule knows is listed, until it is forgotten.
	listed := func(args ...string) string {
		_, out, errs := run(t, ops, append([]string{"ops", "upstreams", "errors"}, args...)...)
		return out + errs
	}
	if got := listed(); got != "no unknown errors in the last seven days\n" {
		t.Errorf("before any error it lists %q", got)
	}
	one.On("eth_gasPrice", testkit.Error(-7, "shard 1 is odd"))
	post(t, api.address, "/rpc/base_mainnet", welcome.Key, `{"jsonrpc":"2.0","id":1,"method":"eth_gasPrice",`+
		`"params":[]}`)
	testkit.Eventually(t, patience, func() bool { return strings.Contains(listed("--json"), "shard 1 is odd") },
		"the error is on the board")
	if got := listed("--forget"); !strings.Contains(got, `eth_gasPrice  -7    "shard 1 is odd"`) {
		t.Errorf("it lists %q", got)
	}
	if got := listed(); got != "no unknown errors in the last seven days\n" {
		t.Errorf("after forgetting it lists %q", got)
	}

	// Out of rotation, and back.
	exit, out, errs := run(t, ops, "ops", "upstreams", "cordon", "one", "--reason", "it lies")
	in := expect.In(t, "cordon")
	require.Equal(in, exit, 0)
	require.Equal(in, out, "cordoned one of base_mainnet\n")
	require.Equal(in, errs, "")
	code(t, api.address, welcome.Key, "-32020")
	got := table()
	expect.Contains(t, got, "| cordoned |")
	expect.Contains(t, got, "one of base_mainnet is cordoned: by ")
	expect.Contains(t, got, ": it lies")
	if exit, out, errs = run(t, ops, "ops", "upstreams", "uncordon", "one"); exit != 0 ||
		out != "uncordoned one of base_mainnet\n" {
		t.Fatalf("uncordon: exit code %d, %q, %q", exit, out, errs)
	}
	code(t, api.address, welcome.Key, `"0x01"`)

	// Another file takes effect on SIGHUP. One with a mistake is logged, by line, and changes
	// nothing.
	rewrite := func(content string, say string) {
		t.Helper()
		if err := os.WriteFile(env["UPSTREAMS_FILE"], []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, s := range []*service{worker, api} {
			if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
			s.says(t, say)
		}
	}
	rewrite(nodesFile(map[string]*testkit.UpstreamServer{"two": two}), `"msg":"upstreams reloaded"`)
	code(t, api.address, welcome.Key, `"0x02"`)
	rewrite("chains:\n  base_mainnet:\n    upstreams:\n      - name: three\n        url: "+canary+"\n",
		"line 5, column 14: chains.base_mainnet.upstreams[0].url: give an http")
	code(t, api.address, welcome.Key, `"0x02"`)
	for _, s := range []*service{worker, api} {
		if strings.Contains(s.logs.String(), canary) {
			t.Error("a log shows an address")
		}
	}
	api.terminate(t)
	worker.terminate(t)
}

// says waits until the role's log contains some words.
func (s *service) says(t *testing.T, words string) {
	t.Helper()
	testkit.Eventually(t, patience, func() bool { return strings.Contains(s.logs.String(), words) }, "the log says %s",
		words)
}

func TestOpsCommand_ImpossibleRequestsSayWhyInOneSentence(t *testing.T) {
	t.Parallel()
	env := environment(t)
	reachable := map[string]string{"REDIS_URL": testkit.Redis(t).URL, "UPSTREAMS_FILE": env["UPSTREAMS_FILE"]}
	for _, tc := range []struct {
		env  map[string]string
		args string
		want []string
	}{
		{env, "ops upstreams", []string{"REDIS_URL", "check that it runs"}},
		{env, "ops upstreams cordon a", []string{"REDIS_URL", "check that it runs"}},
		{env, "ops upstreams uncordon a", []string{"REDIS_URL", "check that it runs"}},
		{map[string]string{"REDIS_URL": env["REDIS_URL"]}, "ops upstreams", []string{"UPSTREAMS_FILE is not set"}},
		{reachable, "ops upstreams --chain eth_mainnet", []string{`"eth_mainnet"`, "it names base_mainnet"}},
		{reachable, "ops upstreams cordon", []string{"1 arg"}},
		{reachable, "ops upstreams cordon nobody", []string{`no upstream "nobody"`, "it has a"}},
		{reachable, "ops upstreams cordon a --chain eth_mainnet", []string{`"eth_mainnet"`}},
		{reachable, "ops upstreams uncordon a", []string{`no upstream "a" is cordoned`}},
		{reachable, "ops upstreams bogus", []string{"bogus"}},
		{reachable, "ops bogus", []string{"bogus"}},
	} {
		t.Run(tc.args, func(t *testing.T) {
			exit, out, errs := run(t, tc.env, strings.Fields(tc.args)...)
			refused(t, tc.args, exit, out, errs, tc.want...)
		})
	}
}

func TestCheckCommand_NamesEveryMistakeWithItsLine(t *testing.T) {
	t.Parallel()
	bad := upstreamsFile(t, "chains:\n  base_mainnet:\n    upstreams:\n      - name: A\n        url: https://"+canary+
		".example/${ABSENT_KEY}\n        haeders: {}\n")
	exit, out, errs := run(t, nil, "check", bad)
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	require.Equal(t, exit, 1, out)
	require.Equal(t, errs, "gateway: the upstreams file has 3 mistakes\n", out)
	require.Len(t, lines, 5, out)
	for i, want := range []string{
		":4:15: chains.base_mainnet.upstreams[0].name: ",
		":5:14: chains.base_mainnet.upstreams[0].url: the environment variable ABSENT_KEY", ":6:9: chains",
	} {
		if !strings.HasPrefix(lines[i], bad+want) {
			t.Errorf("line %d is %q, want it to begin with the path and %q", i, lines[i], want)
		}
	}
	good := upstreamsFile(t,
		"chains: {base_mainnet: {upstreams: [{name: a, url: \"https://a.example/${KEY}\"}, {name: b, url: "+
			"\"https://b.example\"}]}}")
	exit, out, errs = run(t, map[string]string{"KEY": canary}, "check", good)
	expect.Equal(t, exit, 0)
	expect.Equal(t, errs, "")
	expect.Contains(t, out, good+": note: chains: not named, so not served: eth_mainnet")
	expect.HasSuffix(t, out, good+": no mistakes; chains: 1, upstreams: 2\n")
	if strings.Contains(out, canary) {
		t.Error("an address is shown")
	}
	exit, out, errs = run(t, nil, "check", "/nonexistent/upstreams.yaml")
	refused(t, "an absent file", exit, out, errs, "check its path")
	exit, out, errs = run(t, nil, "check")
	refused(t, "no file", exit, out, errs, "1 arg")
}

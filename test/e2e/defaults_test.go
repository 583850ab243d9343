//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/metering/plan"
)

// Clients, forks and command lines that are given a URL and nothing else, on anonymous keys and on
// one of the plan Builder. Their packages are in a separate folder because they have many
// dependencies. The scripts run sequentially because they share the Builder key's rate window.
func TestGateway_ServesStockClientsAtTheirDefaults(t *testing.T) {
	t.Parallel()
	install(t) // viem, ethers, kit and anvil
	for _, name := range []string{"hardhat", "web3", "@wagmi/core"} {
		if _, err := os.Stat(filepath.Join("defaults", "node_modules", name)); err != nil {
			inDefaults(t, nil, "npm", "ci")
			break
		}
	}
	env := gateway(t, "--plan", plan.Builder)
	scripts, err := filepath.Glob("defaults/*.test.js")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	args := []string{"--test", "--test-concurrency=1"}
	for _, script := range scripts {
		args = append(args, filepath.Base(script))
	}
	inDefaults(t, env, "node", args...)
	postsToURLWithKey(t, env) // last, because the scripts count the key's calls
}

// postsToURLWithKey sends a call with Go's own client to https://x:KEY@host, with and without a
// slash at the end of the path.
func postsToURLWithKey(t *testing.T, env []string) {
	t.Helper()
	base, key := strings.TrimPrefix(env[0], "GATEWAY_URL=http://"), strings.TrimPrefix(env[1], "API_KEY=")
	for _, end := range []string{"", "/"} {
		body := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}`)
		url := "http://x:" + key + "@" + base + "/rpc/eth_mainnet" + end
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var answer struct{ Result string }
		err = json.NewDecoder(resp.Body).Decode(&answer)
		_ = resp.Body.Close()
		if err != nil || answer.Result != "0x1" {
			t.Errorf("a path that ends in %q: %v, %q, HTTP %s", end, err, answer.Result, resp.Status)
		}
	}
}

// inDefaults runs a program in the folder defaults.
func inDefaults(t *testing.T, env []string, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // node and npm
	cmd.Dir, cmd.Env = "defaults", append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// anvilProgram is the path of npm's anvil for the only platform in the lock file; the variable
// ANVIL overrides it.
const anvilProgram = "node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil"

// seller receives the scripts' payments per call; no one has its key.
const seller = "0x5e11e75e11E75e11E75e11e75e11e75E11e75E11"

// TestGateway_WorksOverASecondNode serves two built-in chains and an added one from anvil, which
// shares no code with the sandbox's go-ethereum. It compares the toolbox with what ethers reads
// there, and pays per call with ethers. Blocks are mined only on request by a script.
func TestGateway_WorksOverASecondNode(t *testing.T) {
	t.Parallel()
	install(t)
	ethereum, base, added := anvil(t, 1), anvil(t, 8453), anvil(t, 31337)
	file := filepath.Join(t.TempDir(), "upstreams.yaml")
	text := fmt.Sprintf("chains:\n"+
		"  eth_mainnet:\n    upstreams:\n      - name: anvil\n        url: %s\n"+
		"  base_mainnet:\n    upstreams:\n      - name: anvil\n        url: %s\n"+
		"  local:\n    define:\n      title: Local Anvil\n      chain_id: 31337\n      block_time: 2s\n"+
		"      finality_depth: 5\n      max_log_blocks: 100\n      coin: LCL\n"+
		"    upstreams:\n      - name: anvil\n        url: %s\n", ethereum, base, added)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := append(gateway(t, "--upstreams", file, "--pay-to", seller), "ETHEREUM_NODE="+ethereum, "BASE_NODE="+base,
		"ADDED_NODE="+added, "SELLER="+seller)
	scripts, err := filepath.Glob("anvil/*.test.js")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	// Sequentially, because the scripts mine the same chains.
	run(t, env, "node", append([]string{"--test", "--test-concurrency=1"}, scripts...)...)
}

// anvil starts a chain with a few blocks and returns its address. A block has room for about twenty
// transfers, so that ten fill a good part of it.
func anvil(t *testing.T, chainID int) string {
	t.Helper()
	program := os.Getenv("ANVIL")
	if program == "" {
		program = anvilProgram
	}
	//nolint:gosec // see above
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, "--port", "0", "--chain-id",
		fmt.Sprint(chainID), "--no-mining", "--slots-in-an-epoch", "1", "--gas-limit", "2000000")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatalf("%v: name anvil 1.7.1 in ANVIL where npm has none for this machine", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	watchdog := time.AfterFunc(stopPatience, func() { _ = cmd.Process.Kill() })
	defer watchdog.Stop()
	url := ""
	lines := bufio.NewScanner(out)
	for url == "" && lines.Scan() {
		if address, ok := strings.CutPrefix(lines.Text(), "Listening on "); ok {
			url = "http://" + address
		}
	}
	if url == "" {
		t.Fatalf("anvil did not begin to listen: %v", lines.Err())
	}
	go func() { // its output, for as long as it runs
		for lines.Scan() {
		}
	}()
	if err := mine(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	return url
}

// mine mines five blocks: the gateway does not serve a chain without a head.
func mine(ctx context.Context, url string) error {
	body := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"anvil_mine","params":["0x5"]}`)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return errors.New("anvil mines no blocks: " + resp.Status)
	}
	return nil
}

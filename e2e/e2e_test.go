//go:build e2e

// Package e2e runs stock clients from npm (@solana/kit, viem) against the project. It needs node 20 and npm:
//
//	go test -tags e2e ./e2e
package e2e

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/chain"
	"github.com/chainaccess/gateway/sandbox"
)

// patience bounds one run of node, and the installation of its packages.
const patience = 3 * time.Minute

func TestStockClientsAcceptTheSandbox(t *testing.T) {
	t.Parallel()
	install(t)
	s, err := sandbox.Start(t.Context(), sandbox.Options{Chains: []chain.ID{chain.BaseMainnet, chain.SolanaMainnet}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	scripts := map[chain.ID]string{chain.BaseMainnet: "evm.test.js", chain.SolanaMainnet: "solana.test.js"}
	for _, u := range s.Upstreams() {
		if !strings.HasSuffix(u.Name, "-a") {
			continue // one script a chain: two would race for the same account's nonces
		}
		t.Run(u.Name, func(t *testing.T) {
			t.Parallel()
			run(t, []string{"RPC_URL=" + u.URL}, "node", "--test", scripts[u.Chain])
		})
	}
}

// install fetches the locked packages unless they are there.
func install(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("node_modules/@solana/kit"); err != nil {
		run(t, nil, "npm", "ci")
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

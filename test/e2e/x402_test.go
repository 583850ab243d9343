//go:build e2e

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Unmodified x402 clients of both versions pay the gateway. Their packages are in a separate folder
// because they have many dependencies.
func TestX402_StockPayersPayTheGateway(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(filepath.Join("x402", "node_modules", "x402-fetch")); err != nil {
		inX402(t, nil, "npm", "ci", "--no-audit", "--no-fund")
	}
	inX402(t, gateway(t), "node", "--test", "pay.test.js")
}

// inX402 runs a program in the folder x402.
func inX402(t *testing.T, env []string, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = "x402", append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

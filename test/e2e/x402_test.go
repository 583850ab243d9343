//go:build e2e

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Stock x402 clients of both versions pay the gateway, unmodified. Their packages are apart from
// the others', because they bring so much along.
func TestStockPayersPayTheGateway(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(filepath.Join("x402", "node_modules", "x402-fetch")); err != nil {
		inX402(t, nil, "npm", "ci", "--no-audit", "--no-fund")
	}
	inX402(t, gateway(t), "node", "--test", "pay.test.js")
}

// inX402 runs a program in the folder of those packages.
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

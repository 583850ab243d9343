package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// This is a single test because it needs its own stack with Temporal.
func TestRun_GivesServersToTheCommandAndReturnsItsExitCode(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "run")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	script := `case "$TEST_DATABASE_URL $TEST_TEMPORAL_ADDRESS" in postgres://gateway:*@127.0.0.1:*\ 127.0.0.1:*) ` +
		`exit 7;; esac; exit 1`
	cmd := exec.CommandContext(t.Context(), program, "--", "sh", "-c", script) //nolint:gosec // built above
	cmd.Env = os.Environ()
	for i, entry := range cmd.Env {
		if strings.HasPrefix(entry, databaseVariable+"=") || strings.HasPrefix(entry, temporalVariable+"=") {
			cmd.Env[i] = "UNUSED="
		}
	}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 7 {
		t.Errorf("got exit code %d (%v), want the command's own 7: %s", cmd.ProcessState.ExitCode(), err, out)
	}
}

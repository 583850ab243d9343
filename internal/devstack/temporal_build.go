package devstack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chainaccess/gateway/internal/devstack/process"
)

// temporalModule is the last version of Temporal's CLI that go install accepts: later ones have
// replace directives.
const temporalModule = "github.com/temporalio/cli/cmd/temporal@v1.5.1"

var discard = slog.New(slog.DiscardHandler)

// buildTemporal builds Temporal's CLI into the cache unless it is there. Concurrent processes build
// it once.
func (s *starter) buildTemporal(ctx context.Context, target, goTool string) error {
	if executable(target) {
		return nil
	}
	if goTool == "" {
		return errors.New(
			"the temporal program in PATH is too old, and without the go command a newer one cannot be built: " +
				"install Go, or set TEMPORAL_ADDRESS to a server that runs")
	}
	bin := filepath.Dir(target)
	if err := os.MkdirAll(bin, 0o755); err != nil { //nolint:gosec // programs are no secret
		return fmt.Errorf("make the directory of built programs: %w", err)
	}
	return s.progress.during("building the Temporal dev server, which takes some minutes the first time", func() error {
		unlock, err := lockFile(filepath.Join(bin, ".temporal.lock"))
		if err != nil {
			return fmt.Errorf("lock %s: %w", bin, err)
		}
		defer func() { _ = unlock() }()
		if executable(target) {
			return nil
		}
		return s.install(ctx, goTool, target)
	})
}

// install builds in a temporary directory and moves the result into place, so that a partially
// written program is never run.
func (s *starter) install(ctx context.Context, goTool, target string) error {
	scratch, err := os.MkdirTemp(filepath.Dir(target), ".build-")
	if err != nil {
		return fmt.Errorf("make a directory to build in: %w", err)
	}
	defer func() { _ = os.RemoveAll(scratch) }()

	p, err := process.Start(process.Spec{
		Name: "the build of Temporal", Path: goTool, Args: []string{
			"install", "-trimpath", "-ldflags=-s -w", temporalModule,
		},
		Dir: scratch, Env: buildEnv(scratch), LogFile: filepath.Join(filepath.Dir(target), "temporal-build.log"),
	})
	if err != nil {
		return err
	}
	select {
	case <-p.Exited():
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), p.Kill())
	}
	if p.Err() != nil {
		return fmt.Errorf(
			"the Temporal dev server could not be built: check the network, or set TEMPORAL_ADDRESS to one that runs: "+
				"%s (the log is %s)", lastWords(p), p.LogFile())
	}
	return os.Rename(filepath.Join(scratch, filepath.Base(target)), target)
}

// buildEnv removes settings of this checkout and of cross-compilation, since the program runs on
// this machine.
func buildEnv(bin string) []string {
	drop := []string{"GOFLAGS=", "GOBIN=", "GOOS=", "GOARCH=", "GOWORK=", "GO111MODULE=", "CGO_ENABLED="}
	env := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		return slices.ContainsFunc(drop, func(p string) bool { return strings.HasPrefix(entry, p) })
	})
	// GOFLAGS must not be empty, because Go would then use the value of `go env -w`.
	return append(env, "GOBIN="+bin, "GOFLAGS=-buildvcs=false", "GOWORK=off", "GO111MODULE=on", "CGO_ENABLED=0")
}

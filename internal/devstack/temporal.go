package devstack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/chainaccess/gateway/internal/devstack/process"
)

// minTemporalMinor is the minor version of the oldest usable server, 1.27: UpdateWithStart needs
// it.
const minTemporalMinor = 27

// SearchAttributes returns the custom search attributes of the gateway's workflows, all of type
// Keyword.
func SearchAttributes() []string { return []string{"AccountID", "Stage", "StuckReason"} }

func (s *starter) planTemporal() (func(context.Context) error, error) {
	if s.opts.TemporalAddress != "" {
		return s.useTemporal, nil
	}
	if s.opts.CacheDir == "" {
		dir, err := cacheDir()
		if err != nil {
			return nil, fmt.Errorf("find a directory for built programs: set HOME: %w", err)
		}
		s.opts.CacheDir = dir
	}
	cache, err := filepath.Abs(s.opts.CacheDir)
	if err != nil {
		return nil, fmt.Errorf("resolve the cache directory %s: %w", s.opts.CacheDir, err)
	}
	inPath, built, goTool := s.programs.look("temporal"), filepath.Join(cache, "bin", "temporal"), s.programs.look("go")
	if inPath == "" && goTool == "" && !executable(built) {
		//nolint:staticcheck // a name
		return nil, errors.New("Temporal was not found, and without the go command it cannot be built: " +
			"install Go, or set TEMPORAL_ADDRESS to one that runs")
	}
	return func(ctx context.Context) error {
		program := built
		if inPath != "" && temporalUsable(ctx, inPath) {
			program = inPath
		} else if err := s.buildTemporal(ctx, built, goTool); err != nil {
			return err
		}
		return s.startTemporal(ctx, program)
	}, nil
}

// useTemporal checks a server that is already running.
func (s *starter) useTemporal(ctx context.Context) error {
	return s.progress.during("waiting for the Temporal server of TEMPORAL_ADDRESS", func() error {
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		defer cancel()
		if err := temporalReady(ctx, s.opts.TemporalAddress); err != nil {
			return fmt.Errorf("the Temporal server of TEMPORAL_ADDRESS does not answer: "+
				"start it, correct the address, or unset the variable: %w", err)
		}
		s.stack.TemporalAddress = s.opts.TemporalAddress
		return nil
	})
}

func (s *starter) startTemporal(ctx context.Context, program string) error {
	dir := filepath.Join(s.opts.DataDir, "temporal")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the directory of Temporal: %w", err)
	}
	return s.progress.during("starting Temporal", func() error {
		p, err := s.launch(ctx, func() (attempt, error) { return s.temporalAttempt(ctx, program, dir) })
		if err != nil {
			return err
		}
		s.ownProcess(p, stopTemporal)
		return nil
	})
}

func (s *starter) temporalAttempt(ctx context.Context, program, dir string) (attempt, error) {
	port, err := s.opts.TemporalPort, error(nil)
	if port == 0 {
		port, err = freePort(ctx)
	}
	if err != nil {
		return attempt{}, err
	}
	uiPort, err := freePort(ctx)
	if err != nil {
		return attempt{}, err
	}
	args := []string{
		"server", "start-dev", "--ip", "127.0.0.1", "--port", strconv.Itoa(port), "--log-level", "warn", "--color",
		"never",
	}
	for _, name := range SearchAttributes() {
		args = append(args, "--search-attribute", name+"=Keyword")
	}
	s.stack.TemporalAddress = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	s.stack.TemporalUI = ""
	if s.opts.Temporary {
		// Each test creates its own namespace, which the server should see at once. Without a file,
		// the data is in memory.
		args = append(args, "--dynamic-config-value", `system.namespaceCacheRefreshInterval="100ms"`)
	} else {
		args = append(args, "--db-filename", filepath.Join(dir, "temporal.db"))
	}
	if s.opts.Headless || s.opts.Temporary {
		args = append(args, "--headless")
	} else {
		args = append(args, "--ui-port", strconv.Itoa(uiPort))
		s.stack.TemporalUI = "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(uiPort))
	}
	address, ui := s.stack.TemporalAddress, s.stack.TemporalUI
	return attempt{process.Spec{
		Name: "Temporal", Path: program, Args: args, Dir: dir, Env: serverEnv("TEMPORAL_"),
		LogFile: s.logFile("temporal"),
		// Its store survives SIGKILL, and a killed server cannot still hold the file at the next
		// start.
		Stop: []syscall.Signal{syscall.SIGTERM}, ParentDeath: syscall.SIGKILL,
	}, func(ctx context.Context, _ *process.Process) error {
		return errors.Join(temporalReady(ctx, address), uiReady(ctx, ui))
	}}, nil
}

// temporalReady returns nil when the server answers and serves the default namespace.
func temporalReady(ctx context.Context, address string) error {
	c, err := client.NewLazyClient(client.Options{HostPort: address, Logger: log.NewStructuredLogger(discard)})
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.CheckHealth(ctx, &client.CheckHealthRequest{}); err != nil {
		return err
	}
	return nil
}

// uiReady returns nil when the web UI answers, or when there is none.
func uiReady(ctx context.Context, url string) error {
	if url == "" {
		return nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the Temporal UI answers %s", res.Status)
	}
	return nil
}

var temporalServer = regexp.MustCompile(`Server (\d+)\.(\d+)`)

// temporalUsable reports whether the program contains a server that is new enough.
func temporalUsable(ctx context.Context, program string) bool {
	cmd := exec.CommandContext(ctx, program, "--version") //nolint:gosec // an installed program
	// For example "temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)".
	out, err := cmd.Output()
	if err != nil {
		return false
	}
	version := temporalServer.FindStringSubmatch(string(out))
	if version == nil {
		return false
	}
	have := make([]int, 0, len(version)-1)
	for _, part := range version[1:] {
		n, err := strconv.Atoi(part)
		if err != nil {
			return false
		}
		have = append(have, n)
	}
	return slices.Compare(have, []int{1, minTemporalMinor}) >= 0
}

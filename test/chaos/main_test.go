package chaos_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	_ "github.com/chainaccess/gateway/api"
	_ "github.com/chainaccess/gateway/relay"
	_ "github.com/chainaccess/gateway/worker"
)

var (
	long = flag.Bool("long", false,
		"run every scenario alone and in several rounds, and all of them mixed (make test-faults)")
	older = flag.String("older", "",
		"path of an older gateway, built with -tags faultpoints, that runs beside this one (CONTRIBUTING.md)")
	seed = flag.Uint64("seed", 0, "repeat the random moments of a run whose seed was printed; 0 takes a new one")
)

// sources are read by TestMain because the go tool does not know that results depend on programs
// that a test builds. It only tracks imports and files that a test reads.
var sources = []string{
	"../../cmd/gateway", "../../cmd/internal/connect", "../../cmd/internal/listen", "../../cmd/internal/sideport",
	"../../cmd/internal/operator", "../../cmd/internal/wire",
}

func TestMain(m *testing.M) {
	flag.Parse()
	for _, dir := range sources {
		if _, err := os.ReadDir(dir); err != nil {
			panic(err)
		}
	}
	if !*long {
		// The groups mostly wait, for slots to end and for processes to start.
		if err := flag.Set("test.parallel", "3"); err != nil {
			panic(err)
		}
	}
	if *seed == 0 {
		*seed = rand.Uint64() //nolint:gosec // moments, no secret
	}
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// built is the gateway with fault points, built once for all scenarios.
var built struct {
	once sync.Once
	dir  string
	err  error
}

// program builds cmd/gateway with the tag faultpoints and the race detector.
func program(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
		defer cancel()
		//nolint:usetesting // it outlives the test that needs it first
		built.dir, built.err = os.MkdirTemp("", "gateway-faults-")
		if built.err != nil {
			return
		}
		//nolint:gosec // constants
		build := exec.CommandContext(ctx, "go", "build", "-race", "-tags", "faultpoints", "-o", built.dir,
			"../../cmd/gateway")
		if text, err := build.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("build the gateway: %w: %s", err, text)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return filepath.Join(built.dir, "gateway")
}

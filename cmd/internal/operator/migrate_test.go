package operator_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/chainaccess/gateway/cmd/internal/operator"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/migrations"
)

// migrate runs Migrate and returns its output, line by line.
func migrate(t *testing.T, databaseURL string, d operator.Direction) []string {
	t.Helper()
	var out bytes.Buffer
	if err := operator.Migrate(t.Context(), databaseURL, d, &out); err != nil {
		t.Fatalf("migrate %s: %v", d, err)
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// states counts the lines of migrate status by state.
func states(t *testing.T, databaseURL string) (applied, pending int) {
	t.Helper()
	for _, line := range migrate(t, databaseURL, operator.Status) {
		switch state, _, _ := strings.Cut(line, " "); state {
		case "applied":
			applied++
		case "pending":
			pending++
		default:
			t.Errorf("migrate status prints %q", line)
		}
	}
	return applied, pending
}

func TestMigrate_GoesUpAndDownAndReportsTheStatus(t *testing.T) {
	t.Parallel()
	files, err := migrations.FS.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	all := len(files)
	db := testkit.EmptyPostgres(t)
	check := func(after string, wantApplied int) {
		t.Helper()
		if applied, pending := states(t, db); applied != wantApplied || pending != all-wantApplied {
			t.Fatalf("%s: %d applied and %d pending of %d, want %d applied", after, applied, pending, all, wantApplied)
		}
	}
	check("before the first run", 0)
	if lines := migrate(t, db, operator.Up); len(lines) != all {
		t.Errorf("up prints %q, want a line for each of %d migrations", lines, all)
	}
	check("after up", all)
	if lines := migrate(t, db, operator.Up); len(lines) != 1 || !strings.Contains(lines[0], "up to date") {
		t.Errorf("up again prints %q", lines)
	}
	if lines := migrate(t, db, operator.Down); len(lines) != 1 {
		t.Errorf("down prints %q, want the one migration it took back", lines)
	}
	check("after down", all-1)
	if lines := migrate(t, db, operator.Up); len(lines) != 1 {
		t.Errorf("up after down prints %q, want the one migration that was pending", lines)
	}
	check("after up again", all)
	for range all {
		migrate(t, db, operator.Down)
	}
	check("after every down", 0)
}

// Several processes of a deployment migrate concurrently.
func TestMigrate_ConcurrentRunsApplyEachOnce(t *testing.T) {
	t.Parallel()
	db := testkit.EmptyPostgres(t)
	var group errgroup.Group
	for range 4 {
		group.Go(func() error { return operator.Migrate(t.Context(), db, operator.Up, io.Discard) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, pending := states(t, db); pending != 0 {
		t.Errorf("%d are pending", pending)
	}
}

func TestMigrate_ErrorsShowNoPassword(t *testing.T) {
	t.Parallel()
	const canary = "password-canary"
	for _, tc := range []struct {
		url string
		d   operator.Direction
	}{
		{"postgres://u:" + canary + "@" + testkit.ClosedAddress(t) + "/x", operator.Up},
		{"postgres://u:" + canary + "@" + testkit.ClosedAddress(t) + "/x?sslmode=bogus", operator.Status},
		{"postgres://u:" + canary + "%zz@host/x", operator.Down},
	} {
		t.Run(string(tc.d), func(t *testing.T) {
			err := operator.Migrate(t.Context(), tc.url, tc.d, io.Discard)
			if err == nil || strings.Contains(err.Error(), canary) {
				t.Errorf("%s: %v", tc.d, err)
			}
		})
	}
	if err := operator.Migrate(t.Context(), testkit.EmptyPostgres(t), "sideways", io.Discard); err == nil ||
		!strings.Contains(err.Error(), "up, down or status") {
		t.Errorf("an unknown direction: %v", err)
	}
}

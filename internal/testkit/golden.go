package testkit

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Golden compares got with the file at path, line by line. With update it writes the file first.
func Golden(t testing.TB, path, got string, update bool) {
	t.Helper()
	if update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil { //nolint:gosec // a file of this repository
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path) //nolint:gosec // as above
	if err != nil {
		t.Fatalf("%v: run the test with -update", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s changed; run the test with -update when that is meant (-want +got):\n%s", path, diff)
	}
}

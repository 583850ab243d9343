package testkit

import "testing"

// Slow leaves a test that takes many seconds to `make test-all`, which CI runs; `make test` passes
// -short.
func Slow(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("slow: make test-all runs it")
	}
}

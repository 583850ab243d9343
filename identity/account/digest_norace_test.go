//go:build !race

package account_test

import (
	"testing"

	"github.com/chainaccess/gateway/identity/account"
)

// Under the race detector sync.Pool drops items at random, so allocations can be counted only
// without it. Allocations are counted per process, so the test must not run in parallel.
func TestDigest_OfAKeyDoesNotAllocate(t *testing.T) { //nolint:paralleltest // see above
	h, err := account.NewHasher(make([]byte, account.MinPepperBytes))
	if err != nil {
		t.Fatal(err)
	}
	k := mintKey(t)
	var sum byte
	allocs := testing.AllocsPerRun(1000, func() {
		d := k.Digest(h)
		sum ^= d[0]
	})
	if allocs >= 1 { // a garbage collection may empty the pool
		t.Errorf("%v allocations for a digest", allocs)
	}
}

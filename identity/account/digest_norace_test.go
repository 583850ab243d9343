//go:build !race

package account_test

import (
	"testing"

	"github.com/chainaccess/gateway/identity/account"
)

// Under the race detector sync.Pool drops what it is given at random, so that the pooled state can
// be counted only without it. Counting allocations and running in parallel exclude each other.
func TestDigestingAKeyDoesNotAllocate(t *testing.T) { //nolint:paralleltest // see above
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
	if allocs >= 1 { // a collection may empty the pool once in a while
		t.Errorf("%v allocations for a digest", allocs)
	}
}

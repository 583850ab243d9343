package upstream

import (
	"testing"

	"github.com/chainaccess/gateway/chain"
)

func TestTheGenerationNeverGoesDown(t *testing.T) {
	t.Parallel()
	c, _ := chainAt(t, chain.EthMainnet)
	for _, step := range []struct{ published, want uint64 }{{0, 0}, {7, 7}, {3, 7}, {8, 8}} {
		s := healthy(c, noon)
		s.Generation = step.published
		c.Apply(s)
		if got := c.Generation(); got != step.want {
			t.Errorf("after %d was published it is %d, want %d", step.published, got, step.want)
		}
	}
}

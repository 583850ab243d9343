package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
)

// maxLogBlocksOfPlan is more than any provider takes, and few enough requests when providers take
// ten.
const maxLogBlocksOfPlan = 10_000

// LogBlocksByPlan returns how many blocks one eth_getLogs may span, for the plans that may ask for
// more than others.
func (c *Config) LogBlocksByPlan() (map[string]uint64, error) {
	caps := make(map[string]uint64)
	for entry := range strings.FieldsSeq(c.LogBlockCaps) {
		key, number, _ := strings.Cut(entry, "=")
		if _, ok := plan.Lookup(key); !ok {
			return nil, fmt.Errorf("LOG_BLOCK_CAPS must name plans among %s", strings.Join(planKeys(), ", "))
		}
		n, err := strconv.ParseUint(number, 10, 64)
		if err != nil || n < chain.MaxLogBlocks || n > maxLogBlocksOfPlan {
			return nil, fmt.Errorf("LOG_BLOCK_CAPS must be PLAN=BLOCKS, separated by spaces, with %d to %d blocks",
				chain.MaxLogBlocks, maxLogBlocksOfPlan)
		}
		if caps[key] != 0 {
			return nil, fmt.Errorf("LOG_BLOCK_CAPS must name %s once", key)
		}
		caps[key] = n
	}
	return caps, nil
}

func planKeys() (keys []string) {
	for _, p := range plan.All() {
		keys = append(keys, p.Key)
	}
	return keys
}

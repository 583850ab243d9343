package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/chainaccess/gateway/relay/chain"
)

// Cordon is an operator's order not to use an upstream, not even as a last resort, until it is
// removed. Probes of it continue, but do not count towards the head.
type Cordon struct {
	By     string    `json:"by"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`
}

// Cordon takes an upstream out of rotation in every process, within a second. It survives probes
// and restarts.
func (b *Board) Cordon(ctx context.Context, id chain.ID, name string, c Cordon) error {
	raw, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("cordon %s of %s: %w", name, id, err)
	}
	if err := b.rdb.HSet(ctx, cordonKey(id), name, raw).Err(); err != nil {
		return fmt.Errorf("cordon %s of %s: %w", name, id, err)
	}
	return nil
}

// Uncordon removes a cordon; false if there was none.
func (b *Board) Uncordon(ctx context.Context, id chain.ID, name string) (bool, error) {
	n, err := b.rdb.HDel(ctx, cordonKey(id), name).Result()
	if err != nil {
		return false, fmt.Errorf("uncordon %s of %s: %w", name, id, err)
	}
	return n > 0, nil
}

// decodeCordons keeps an upstream cordoned even if its record cannot be decoded.
func decodeCordons(named map[string]string) map[string]Cordon {
	cordons := make(map[string]Cordon, len(named))
	for name, raw := range named {
		var c Cordon
		if json.Unmarshal([]byte(raw), &c) != nil {
			c = Cordon{}
		}
		cordons[name] = c
	}
	return cordons
}

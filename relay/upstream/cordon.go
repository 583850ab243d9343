package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/chainaccess/gateway/relay/chain"
)

// Cordon is an operator's order not to use an upstream: not as a last resort either, until it is
// taken back. Probes go on, their findings about a cordoned upstream count for nobody else.
type Cordon struct {
	By     string    `json:"by"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`
}

// Cordon takes an upstream out of rotation in every process, within a second. It outlasts probes
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

// Uncordon takes a cordon back; false when there was none.
func (b *Board) Uncordon(ctx context.Context, id chain.ID, name string) (bool, error) {
	n, err := b.rdb.HDel(ctx, cordonKey(id), name).Result()
	if err != nil {
		return false, fmt.Errorf("uncordon %s of %s: %w", name, id, err)
	}
	return n > 0, nil
}

// decodeCordons holds an upstream cordoned also when who ordered it cannot be read.
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

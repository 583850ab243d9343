package meter

import (
	"context"
	"fmt"
	"time"

	"github.com/chainaccess/gateway/account"
)

// Limited is the answer of Limit.
type Limited struct {
	OK    bool
	Left  int64
	Wait  time.Duration // until the next is let through; 0 while some are left
	Reset time.Duration // until all have come back
}

// Limit lets one through the limit called name, which belongs to no account: w.Limit at once, which come back evenly over w.Per. A name must
// not hold braces; whose it is belongs into it (an address, a key's id), never a secret.
func (m *Meter) Limit(ctx context.Context, name string, w account.RateWindow) (Limited, error) {
	reply, err := m.run(ctx, m.limit, []string{"{limit:" + name + "}"}, w.Limit, w.Per.Milliseconds()).Int64Slice()
	if err != nil {
		return Limited{}, fmt.Errorf("take from a limit: %w", err)
	}
	if len(reply) != 4 {
		return Limited{}, fmt.Errorf("take from a limit: unexpected reply of %d parts", len(reply))
	}
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	return Limited{OK: reply[0] == 1, Left: reply[1], Wait: ms(reply[2]), Reset: ms(reply[3])}, nil
}

package meter

import (
	"context"
	"fmt"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/netlimit"
)

// Limited is the result of Limit.
type Limited struct {
	OK    bool
	Left  int64
	Wait  time.Duration // until the next is allowed; 0 while some are left
	Reset time.Duration // until the limit is full again
}

// Limit takes one from the rate limit called name, which belongs to no account: w.Limit at once,
// refilled evenly over w.Per. name must not contain braces. It includes what is limited (the digest
// of an e-mail address, the id of a key), never a secret. Networks are limited by package netlimit.
func (m *Meter) Limit(ctx context.Context, name string, w account.RateWindow) (Limited, error) {
	c, err := m.takeFrom(ctx, []string{"{limit:" + name + "}"}, 1, w.Per.Milliseconds(),
		[]netlimit.Layer{{Limit: w.Limit}})
	if err != nil {
		return Limited{}, err
	}
	return Limited{OK: c.Refused < 0, Left: c.Layers[0].Left, Wait: c.Wait, Reset: c.Layers[0].Reset}, nil
}

var _ netlimit.Counter = (*Meter)(nil)

// TakeQuota takes n from all layers of the limit called name, or from none. All keys of a name are
// in one cluster slot.
func (m *Meter) TakeQuota(ctx context.Context, name string, n int64, b netlimit.Bounds,
	layers []netlimit.Layer,
) (netlimit.Counted, error) {
	keys, window := make([]string, len(layers)), b.Per.Milliseconds()
	for i := range layers {
		keys[i] = "{limit:" + name + "}:" + layers[i].Name
	}
	if b.Daily {
		window = 0
	}
	return m.takeFrom(ctx, keys, n, window, layers)
}

func (m *Meter) takeFrom(ctx context.Context, keys []string, n, window int64,
	layers []netlimit.Layer,
) (netlimit.Counted, error) {
	args := []any{window, n}
	for i := range layers {
		args = append(args, layers[i].Limit)
	}
	reply, err := m.run(ctx, m.limit, keys, args...).Slice()
	if err != nil {
		return netlimit.Counted{}, fmt.Errorf("take from a limit: %w", err)
	}
	const head, each = 3, 2
	if len(reply) != head+each*len(layers) {
		return netlimit.Counted{}, fmt.Errorf("take from a limit: unexpected reply of %d parts", len(reply))
	}
	number := func(i int) int64 { n, _ := reply[i].(int64); return n }
	ms := func(i int) time.Duration { return time.Duration(number(i)) * time.Millisecond }
	c := netlimit.Counted{Refused: int(number(0)) - 1, Wait: ms(1)}
	suffix, _ := reply[2].(string)
	for i := range layers {
		c.Layers = append(c.Layers, netlimit.LayerCount{Left: number(head + each*i), Reset: ms(head + each*i + 1)})
		if suffix != "" {
			c.Names = append(c.Names, keys[i]+suffix)
		}
	}
	return c, nil
}

// ReturnQuota undoes a TakeQuota of a daily limit whose purpose failed. names are
// netlimit.Counted.Names.
func (m *Meter) ReturnQuota(ctx context.Context, names []string) error {
	if err := m.run(ctx, m.returnQuota, names).Err(); err != nil {
		return fmt.Errorf("give back to a daily count: %w", err)
	}
	return nil
}

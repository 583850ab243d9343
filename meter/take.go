package meter

import (
	"context"
	"fmt"
	"time"
)

// Taken is the answer of TakeDaily.
type Taken struct {
	OK    bool
	Left  int64
	Reset time.Duration // until the UTC day ends

	count string
}

// TakeDaily takes one from the count called name of the current UTC day, of which there are limit. It is for limits that belong
// to no account, such as new keys of a network address.
func (m *Meter) TakeDaily(ctx context.Context, name string, limit int64) (Taken, error) {
	reply, err := m.run(ctx, m.take, []string{"{" + name + "}"}, limit).Slice()
	if err != nil {
		return Taken{}, fmt.Errorf("take from a daily count: %w", err)
	}
	if len(reply) != 4 {
		return Taken{}, fmt.Errorf("take from a daily count: unexpected reply of %d parts", len(reply))
	}
	ok, _ := reply[0].(int64)
	left, _ := reply[1].(int64)
	reset, _ := reply[2].(int64)
	count, _ := reply[3].(string)
	return Taken{OK: ok == 1, Left: left, Reset: time.Duration(reset) * time.Millisecond, count: count}, nil
}

// GiveBack undoes a TakeDaily whose purpose failed. One that was not OK has taken nothing and gives nothing back.
func (m *Meter) GiveBack(ctx context.Context, t Taken) error {
	if !t.OK {
		return nil
	}
	if err := m.run(ctx, m.give, []string{t.count}).Err(); err != nil {
		return fmt.Errorf("give back to a daily count: %w", err)
	}
	return nil
}

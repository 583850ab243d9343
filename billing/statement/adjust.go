package statement

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store/billingdb"
	"github.com/chainaccess/gateway/store/usagedb"
)

// adjust computes adjustments: usage of closed periods that was recorded since they were frozen,
// less earlier adjustments. It adds each to the first statement that is closed now.
func (c *closing) adjust(ctx context.Context, late []usagedb.UsagePeriod, usage map[usagedb.UsagePeriod]tally,
	keys map[account.KeyID]billingdb.StatementKey,
) error {
	if len(late) == 0 {
		return nil
	}
	frozen, err := c.w.Frozen(ctx, late)
	if err != nil {
		return err
	}
	for _, of := range late {
		kept, ok := frozen[of]
		if !ok {
			return fmt.Errorf("adjust account %s, period %s: its statement is gone", of.Account, of.Period)
		}
		s, err := thaw(kept.Content, kept.Hash)
		if err != nil {
			return err
		}
		if _, ok := usage[of]; !ok {
			usage[of] = newTally()
		}
		usage[of].take(s.Keys)
	}
	before, err := c.w.Adjusted(ctx, late)
	if err != nil {
		return err
	}
	for i := range before {
		var a Adjustment
		if err := json.Unmarshal(before[i].Content, &a); err != nil {
			return fmt.Errorf("read an adjustment of account %s, period %s: %w", before[i].Account,
				before[i].Period, err)
		}
		usage[before[i].UsagePeriod].take(a.Keys)
	}
	for _, of := range late {
		a := Adjustment{Period: of.Period, Keys: usage[of].keys(of.Account, keys)}
		if len(a.Keys) == 0 {
			continue // the books differ, which the audit reports
		}
		a.Totals, _ = sum(a.Keys)
		for i := range c.dues {
			if c.dues[i].account.ID == of.Account {
				c.dues[i].adjustments = append(c.dues[i].adjustments, a)
				break
			}
		}
	}
	return nil
}

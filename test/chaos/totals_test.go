package chaos_test

import (
	"sync"
	"time"
)

// watchTotals repeatedly checks until stop is called that PostgreSQL's totals never decrease.
func (r *rig) watchTotals() (stop func()) {
	quit := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		highest := map[string]int64{}
		for {
			totals, err := r.totals()
			if err != nil {
				r.t.Error(err)
				return
			}
			for what, n := range totals {
				if n < highest[what] {
					r.t.Errorf("the total of %s in PostgreSQL fell from %d to %d", what, highest[what], n)
				}
				highest[what] = max(highest[what], n)
			}
			select {
			case <-quit:
				return
			case <-tick.C:
			}
		}
	})
	return func() {
		close(quit)
		watching.Wait()
	}
}

// totals returns sums of lines that only grow; refunds are negative, so their absolute values are
// used.
func (r *rig) totals() (map[string]int64, error) {
	rows, err := r.db.Query(r.t.Context(),
		`SELECT key_id::text || ' ' || outcome, abs(sum(requests))::bigint, abs(sum(units))::bigint
FROM usage_hours GROUP BY 1`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[string]int64{}
	for rows.Next() {
		var what string
		var requests, units int64
		if err := rows.Scan(&what, &requests, &units); err != nil {
			return nil, err
		}
		all[what+" requests"], all[what+" units"] = requests, units
	}
	return all, rows.Err()
}

package servicetest

import (
	"testing"
	"time"

	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/store/chaindb"
)

// Stood records that a chain was in a state from an instant on for d, measured every minute.
func (o *Env) Stood(t *testing.T, id chain.ID, state chain.State, from time.Time, d time.Duration) {
	t.Helper()
	for at := from; !at.After(from.Add(d)); at = at.Add(time.Minute) {
		if err := o.Store.RecordChain(o.Ctx, &chaindb.ChainReport{Chain: id, State: state, MeasuredAt: at},
			2*time.Minute); err != nil {
			t.Fatal(err)
		}
	}
}

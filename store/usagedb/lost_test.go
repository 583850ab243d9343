package usagedb_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/internal/storetest"
	"github.com/chainaccess/gateway/store/usagedb"
)

func lostCalls(n int, prefix string) []account.LostCall {
	calls := make([]account.LostCall, n)
	for i := range calls {
		calls[i] = account.LostCall{
			Nonce: fmt.Sprint(prefix, i), Account: account.NewID(), Key: account.NewKeyID(), Units: plan.Unit,
			Service: "rpc", Mark: "mark", NotAfter: time.Now(),
		}
	}
	return calls
}

func TestAddLostCalls_WrittenTwiceIsNotDropped(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	calls := lostCalls(3, "call")
	for range 2 { // a retry after a lost answer
		if dropped, err := s.AddLostCalls(ctx, calls); err != nil || len(dropped) != 0 {
			t.Errorf("%d dropped, %v", len(dropped), err)
		}
	}
	fill := lostCalls(usagedb.MaxLostCalls-len(calls), "fill")
	if dropped, err := s.AddLostCalls(ctx, fill); err != nil || len(dropped) != 0 {
		t.Fatalf("%d dropped, %v, want none: the list is just full", len(dropped), err)
	}
	if dropped, err := s.AddLostCalls(ctx, calls); err != nil || len(dropped) != 0 {
		t.Errorf("%d dropped of a full list that has them, %v", len(dropped), err)
	}
	further := lostCalls(1, "further")
	dropped, err := s.AddLostCalls(ctx, append(further, calls...))
	in := expect.In(t, "the one that is not there")
	require.NoError(in, err)
	require.Len(in, dropped, 1)
	expect.Equal(in, dropped[0].Nonce, further[0].Nonce)
}

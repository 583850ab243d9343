package relay

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/relay/chain"
)

var minContextSlot = regexp.MustCompile(`"minContextSlot":(\d+)`)

// onSolana returns a process over nodes that are at their slots, by getSlot and by minContextSlot.
// A slot is confirmed 16 slots before it is final.
func onSolana(t *testing.T, nodes ...*chainNode) *process {
	t.Helper()
	for _, n := range nodes {
		at := func(x *testkit.Exchange) uint64 {
			if regexp.MustCompile(`"confirmed"`).Match(x.Request.Params) {
				return n.head.Load() + 16
			}
			return n.head.Load()
		}
		n.On("getSlot", func(x *testkit.Exchange) { testkit.Result(at(x))(x) })
		n.On("getBalance", func(x *testkit.Exchange) {
			found := minContextSlot.FindSubmatch(x.Request.Params)
			if found == nil {
				testkit.Result(0)(x)
				return
			}
			if least, _ := strconv.ParseUint(string(found[1]), 10, 64); least > at(x) {
				testkit.Error(-32016, "Minimum context slot has not been reached")(x)
				return
			}
			testkit.Raw(200, "application/json", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, x.Request.ID,
				found[1]))(x)
		})
	}
	return newProcessOn(t, nil, chain.SolanaMainnet, nodes...)
}

func TestSolana_MinContextSlotIsTheSlotThatClientsWereTold(t *testing.T) {
	t.Parallel()
	n := newNode(t, firstHead)
	p := onSolana(t, n)
	slot := strconv.FormatUint(firstHead, 10)
	expect.Equal(t, p.call(t, "getSlot", `[]`, false).result, slot)
	expect.Equal(t, p.call(t, "getBalance", `["11111111111111111111111111111111"]`, false).result, slot)
	const confirmed = `{"commitment":"confirmed"}`
	slot = strconv.FormatUint(firstHead+16, 10)
	expect.Equal(t, p.call(t, "getSlot", `[`+confirmed+`]`, false).result, slot)
	a := p.call(t, "getBalance", `["11111111111111111111111111111111",`+confirmed+`]`, false)
	expect.Equal(t, a.result, slot)
}

func TestSolana_ANodeBelowTheSlotIsPassedOver(t *testing.T) {
	t.Parallel()
	behind, ahead := newNode(t, firstHead), newNode(t, firstHead)
	p := onSolana(t, behind, ahead)
	behind.head.Store(firstHead - 40)
	a := p.call(t, "getBalance", `["11111111111111111111111111111111"]`, false)
	expect.Equal(t, a.result, strconv.FormatUint(firstHead, 10))
	expect.Equal(t, a.attempts, 2)
}

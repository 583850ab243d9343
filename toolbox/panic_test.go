package toolbox

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/parallel"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/toolbox/node"
)

// breaking is a chain on which every call but eth_blockNumber panics.
type breaking struct{}

func (breaking) Call(_ context.Context, q node.Query) (json.RawMessage, error) {
	if q.Method == "eth_blockNumber" { // histories call it alone
		return json.RawMessage(`"0x10"`), nil
	}
	panic("of the test")
}

func (breaking) Availability(chain.ID, chain.Capability) upstream.Availability { return upstream.Live }

// Parallel calls of a chain run in goroutines, where a panic that is not passed on would end the
// process of this test.
func TestPanic_OfAPartIsThatOfTheWholeAnswer(t *testing.T) {
	t.Parallel()
	ctx, now := t.Context(), time.Now
	const somebody = "0x00000000000000000000000000000000c0ffee01"
	for name, run := range map[string]func() error{
		"gas": func() error {
			_, err := NewGasOracle(breaking{}, nil, now).Recommend(ctx, chain.BaseMainnet)
			return err
		},
		"prices": func() error {
			_, err := NewPriceReader(breaking{}, time.Hour, now).Read(ctx, "eth,btc")
			return err
		},
		"status": func() error {
			_, err := NewTxTracker(breaking{}, now).Status(ctx, chain.EthMainnet, "0x1")
			return err
		},
		"balances": func() error {
			_, err := NewLedger(breaking{}, nil, now).Balances(ctx, chain.EthMainnet, somebody)
			return err
		},
		"balances of Solana": func() error {
			_, err := NewLedger(breaking{}, nil, now).Balances(ctx, chain.SolanaMainnet,
				"11111111111111111111111111111111")
			return err
		},
		"history": func() error {
			_, err := NewLedger(breaking{}, nil, now).History(ctx, HistoryPage{
				Chain: chain.EthMainnet, Address: somebody, Limit: 1,
			})
			return err
		},
		"facts of tokens": func() error {
			_, all := newTokenCache(breaking{}, now).of(ctx, chain.EthMainnet, []wallet.Address{{1}})
			return fmt.Errorf("all: %t", all)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				p, ok := recover().(*parallel.PanicError)
				require.True(t, ok)
				expect.Equal[any](t, p.Cause, "of the test")
				expect.Contains(t, string(p.Stack), "breaking.Call")
			}()
			t.Errorf("it gives %v", run())
		})
	}
}

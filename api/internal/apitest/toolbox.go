package apitest

import (
	"time"

	"github.com/chainaccess/gateway/internal/egress"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/service/tools"
	"github.com/chainaccess/gateway/toolbox"
	"github.com/chainaccess/gateway/toolbox/ens"
	nodes "github.com/chainaccess/gateway/toolbox/node"
)

// newToolbox builds the sources of metered operations over the chains of a test, as
// cmd/internal/wire does.
func newToolbox(pool *upstream.Pool, o *Options) tools.Toolbox {
	reader := nodes.New(pool, Links)
	made := tools.Toolbox{
		Node:         reader,
		Gas:          toolbox.NewGasOracle(reader, pool.Known(), o.Now),
		Transactions: toolbox.NewTxTracker(reader, o.Now),
		Prices:       toolbox.NewPriceReader(reader, time.Hour, o.Now),
		ENS:          ens.New(reader, egress.New(egress.Options{Now: o.Now}), o.Now),
		Ledger:       toolbox.NewLedger(reader, pool.Known(), o.Now),
	}
	if o.Toolbox != nil {
		o.Toolbox(&made)
	}
	return made
}

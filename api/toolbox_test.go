package api_test

import (
	"time"

	"github.com/chainaccess/gateway/internal/egress"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/toolbox"
	"github.com/chainaccess/gateway/toolbox/ens"
	nodes "github.com/chainaccess/gateway/toolbox/node"
)

// newToolbox builds the sources of metered operations over the chains of a test, as
// cmd/internal/wire does.
func newToolbox(pool *upstream.Pool, o *options) service.Toolbox {
	reader := nodes.New(pool, links)
	made := service.Toolbox{
		Node:         reader,
		Gas:          toolbox.NewGasOracle(reader, o.now),
		Transactions: toolbox.NewTxTracker(reader, o.now),
		Prices:       toolbox.NewPriceReader(reader, time.Hour, o.now),
		ENS:          ens.New(reader, egress.New(egress.Options{Now: o.now}), o.now),
		Ledger:       toolbox.NewLedger(reader, o.now),
	}
	if o.toolbox != nil {
		o.toolbox(&made)
	}
	return made
}

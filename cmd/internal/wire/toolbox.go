package wire

import (
	"strings"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/egress"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/service/tools"
	"github.com/chainaccess/gateway/toolbox"
	"github.com/chainaccess/gateway/toolbox/contracts"
	"github.com/chainaccess/gateway/toolbox/ens"
	"github.com/chainaccess/gateway/toolbox/node"
)

// newToolbox returns the data sources of the metered operations.
//
//nolint:gocritic // read once at the start
func newToolbox(cfg config.Config, b *base, o *service.Options) tools.Toolbox {
	reader := node.New(b.pool, o.Links)
	return tools.Toolbox{
		Node:         reader,
		Gas:          toolbox.NewGasOracle(reader, b.pool.Known(), time.Now),
		Transactions: toolbox.NewTxTracker(reader, time.Now),
		Prices:       toolbox.NewPriceReader(reader, cfg.PriceHeartbeat, time.Now),
		ENS: ens.New(reader,
			egress.New(egress.Options{Now: time.Now, Trusted: strings.Fields(cfg.TrustedGateways)}), time.Now),
		Ledger: toolbox.NewLedger(reader, b.pool.Known(), time.Now),
		Contracts: contracts.New(contracts.Options{
			Node: reader, SourcifyURL: cfg.SourcifyURL, SignaturesURL: cfg.SignaturesURL, Answers: o.Answers,
			Now: time.Now,
		}),
	}
}

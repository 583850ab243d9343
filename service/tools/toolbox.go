package tools

import (
	"github.com/chainaccess/gateway/toolbox"
	"github.com/chainaccess/gateway/toolbox/contracts"
	"github.com/chainaccess/gateway/toolbox/ens"
	"github.com/chainaccess/gateway/toolbox/node"
)

// Toolbox holds the sources of metered operations.
type Toolbox struct {
	Node         *node.Reader
	Gas          *toolbox.GasOracle
	Transactions *toolbox.TxTracker
	Prices       *toolbox.PriceReader
	ENS          *ens.Names
	Ledger       *toolbox.Ledger
	Contracts    *contracts.Service
}

package stock

import (
	"context"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/store"
)

// How many payments of open outcome a payer and a network address may have: what becomes of each is
// read from the chain until it is known. Those that come at once may get past each other;
// netlimit.Payments bounds them.
const (
	openPerPayer   = 16
	openPerNetwork = 64
)

// tooManyOpen refuses a payment of those of whose payments too many are open.
func (c *Processor) tooManyOpen(ctx context.Context, a *store.Authorization) *fault.Error {
	ofPayer, ofNetwork, err := c.Record.CountOpenAuthorizations(ctx, a.Payer, a.Network, openPerNetwork)
	switch {
	case err != nil:
		return notRecorded(err)
	case ofPayer >= openPerPayer:
		return refuseMoreOpen("of this wallet", openPerPayer)
	case ofNetwork >= openPerNetwork:
		return refuseMoreOpen("from your network address", openPerNetwork)
	}
	return nil
}

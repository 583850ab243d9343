package stock

import (
	"context"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/store/paymentdb"
)

// Maximum number of payments with an open outcome, by payer and by network. Each of them is read
// from the chain until its outcome is known. Concurrent payments may pass this check together;
// netlimit.Payments bounds those.
const (
	openPerPayer   = 16
	openPerNetwork = 64
)

// tooManyOpen refuses a payment when its payer or its network already has too many open ones.
func (c *Processor) tooManyOpen(ctx context.Context, a *paymentdb.Authorization) *fault.Error {
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

package sandbox

import (
	"context"
	"time"

	"github.com/chainaccess/gateway/internal/sandbox/internal/sourcify"
)

// verifiedAt is the date of all verifications.
var verifiedAt = time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC)

// Sourcify returns a fake of Sourcify, the repository of verified contracts (GET
// /server/v2/contract/{chainId}/{address}) and the database of signatures (GET
// /signature-database/v1/lookup). It knows the contracts of the chains that run, except Unverified
// and MinimalProxy.
func (s *Sandbox) Sourcify() *Service { return s.sourcify }

func (s *Sandbox) startSourcify(ctx context.Context, o Options) error {
	var listings []sourcify.Listing
	for _, w := range world {
		for _, p := range s.placed[w.id] {
			listings = append(listings, sourcify.Listing{
				// Contracts that are linked by hand match except for their metadata.
				ChainID: w.chainID, Address: p.Address, Contract: p.Contract, Exact: len(p.Contract.Links) == 0,
				Proxy: p.Proxy, Target: p.Target,
			})
		}
	}
	handler, err := sourcify.New(listings, verifiedAt)
	if err != nil {
		return err
	}
	s.sourcify, err = s.newService(ctx, "sandbox-sourcify", o.Listen, handler, o.Logger)
	return err
}

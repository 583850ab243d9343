package operator

import (
	"context"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/usagedb"
)

// Costs returns what requests cost at providers in the days from since to before until, and what
// clients paid.
//
//nolint:gocritic // a copy does no harm
func Costs(ctx context.Context, cfg config.Config, since, until time.Time,
	maxAccounts int,
) (costs usagedb.Costs, err error) {
	err = withPayments(ctx, cfg, func(s *store.Store) (err error) {
		costs, err = s.GetCosts(ctx, since, until, maxAccounts)
		return err
	})
	return costs, err
}

package advice

import (
	"context"

	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/billing"
	"github.com/chainaccess/gateway/service/operation"
)

// PriceVolumeInput is the volume of a month.
type PriceVolumeInput struct {
	Units int64 `json:"units" minimum:"0" maximum:"1000000000000" doc:"weighted units of 30 days, a whole number up to 1,000,000,000,000" example:"5000000"`
}

func (h *handlers) priceVolume() *operation.Operation[PriceVolumeInput, billing.PriceLadder] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "price_volume", Title: "Prices at a volume", Access: operation.Everybody, PerNetwork: true, Reads: true,
		Description: "Lists every way to buy units with what a month of a volume would cost on it, and the cheapest. " +
			"It needs no account, costs nothing and changes nothing.",
	}, h.runPriceVolume)
}

// runPriceVolume shows the founding offer as not on sale if its seats cannot be counted.
func (h *handlers) runPriceVolume(ctx context.Context, _ *operation.Call,
	in PriceVolumeInput,
) (billing.PriceLadder, error) {
	taken, known := h.Prices.SeatsTaken(ctx)
	if !known {
		taken = plan.Founding().Seats
	}
	return h.Prices.RungsAt(plan.Units(in.Units)*plan.Unit, taken, ""), nil
}

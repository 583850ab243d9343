package service

import (
	"context"

	"github.com/chainaccess/gateway/metering/plan"
)

// PriceVolumeInput is the volume of a month.
type PriceVolumeInput struct {
	Units int64 `json:"units" minimum:"0" maximum:"1000000000000" doc:"weighted units of 30 days, a whole number up to 1,000,000,000,000" example:"5000000"`
}

func (h *service) priceVolume() *Operation[PriceVolumeInput, PriceLadder] {
	return define(h, Meta{
		Name: "price_volume", Title: "Prices at a volume", Access: Everybody, PerNetwork: true, Reads: true,
		Description: "Lists every way to buy units with what a month of a volume would cost on it, and the cheapest. " +
			"It needs no account, costs nothing and changes nothing.",
	}, h.runPriceVolume)
}

// runPriceVolume shows the founding offer as not on sale if its seats cannot be counted.
func (h *service) runPriceVolume(ctx context.Context, _ *Call, in PriceVolumeInput) (PriceLadder, error) {
	taken, known := h.Prices.SeatsTaken(ctx)
	if !known {
		taken = plan.Founding().Seats
	}
	return h.Prices.RungsAt(plan.Units(in.Units)*plan.Unit, taken, ""), nil
}

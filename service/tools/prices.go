package tools

import (
	"context"
	"net/http"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/toolbox"
)

// PricesInput selects the prices.
type PricesInput struct {
	Symbols string `json:"symbols,omitempty" maxLength:"200" doc:"symbols separated by commas, of eth, btc, link, in any case and order; leave it out for all" example:"eth,btc"`
}

// Check validates the input and fills in defaults.
func (in *PricesInput) Check() (refusal *fault.Error) {
	in.Symbols, refusal = toolbox.ParseSymbols(in.Symbols)
	return refusal
}

// OnChain returns the chain that the input names.
func (in *PricesInput) OnChain() chain.ID { return chain.EthMainnet }

func (h *handlers) getPrices() *operation.Operation[PricesInput, toolbox.Prices] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "get_prices", Title: "Get token prices",
		Description: "Gives prices of eth, btc and link in US dollars, as Chainlink's feeds on Ethereum have them on " +
			"chain, in exact decimal strings. Each says when its feed took it, and is marked stale once it is older " +
			"than the feed's heartbeat and a tenth of it, or when the feed gives no price above zero: do not trade " +
			"on a stale one. Feeds follow the market in steps, so this is no ticker. It costs 1 unit however many " +
			"symbols are asked for, a repeat within 30 seconds nothing. Either all prices come or none: when a feed " +
			"cannot be read it fails and costs nothing.",
		Route:   operation.Route{Method: http.MethodGet, Path: "/toolbox/prices", Status: http.StatusOK},
		Access:  operation.KeyHolders,
		Reads:   true,
		Service: account.Prices,
		Units:   pricesUnits,
		TTL:     30 * time.Second,
		Fails:   chainFailures,
	}, h.runGetPrices)
}

const pricesUnits = plan.Unit

func (h *handlers) runGetPrices(ctx context.Context, _ *operation.Call, in PricesInput) (toolbox.Prices, error) {
	prices, err := h.Toolbox.Prices.Read(ctx, in.Symbols)
	prices.UnitWeight = pricesUnits
	return prices, err
}

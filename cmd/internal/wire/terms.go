package wire

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
)

var errNothingToRead = errors.New(
	"X402_PAY_TO is set, but the upstreams file names no base_mainnet, so payments could not be read: " +
		"name its upstreams there, or leave the variable out")

// newTerms returns the seller's terms, from the configuration and the chain's id in the upstreams
// file. They are the same in every process with the same configuration. Without an address to pay
// to, nothing is sold.
func newTerms(cfg config.Config, pool *upstream.Pool) (x402.Terms, error) { //nolint:gocritic // read once at the start
	public, err := url.Parse(cfg.PublicURL)
	if err != nil {
		return x402.Terms{}, fmt.Errorf("PUBLIC_URL: %w", err)
	}
	t := x402.Terms{
		Host:    public.Host,
		Service: cfg.ServiceTitle, Confirmations: cfg.X402MinConfirmations,
		CorroborateAbove: plan.Atomic(cfg.X402CorroborateAbove),
	}
	paidOn, listed := pool.Chain(chain.BaseMainnet)
	switch {
	case listed:
		t.Chain = paidOn.ChainID
	case cfg.SellsPerCall():
		return x402.Terms{}, errNothingToRead
	}
	for _, each := range []struct {
		variable, text string
		to             *wallet.Address
	}{{"X402_ASSET", cfg.X402Asset, &t.Asset}, {"X402_PAY_TO", cfg.X402PayTo, &t.PayTo}} {
		if each.text == "" {
			continue
		}
		read, err := wallet.ParseAddress(each.text)
		if err != nil {
			return x402.Terms{}, fmt.Errorf("%s: %w", each.variable, err)
		}
		*each.to = read
	}
	return t, nil
}

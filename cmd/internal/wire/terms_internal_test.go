package wire

import (
	"errors"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/relay/upstream"
)

func poolOf(t *testing.T, name string, id uint64) *upstream.Pool {
	t.Helper()
	pool, err := upstream.NewPool(config.Upstreams{Chains: map[string]config.ChainUpstreams{
		name: {ChainID: id, Upstreams: []config.Upstream{{Name: "a", URL: "http://127.0.0.1:1", Supply: "public"}}},
	}}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func TestPaymentTerms_AreThoseOfTheConfigurationAndChain(t *testing.T) {
	t.Parallel()
	cfg := config.Config{
		PublicURL: "https://gateway.example:8443/behind", ServiceTitle: "Some Gateway",
		X402PayTo: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8", X402Asset: config.USDCOnBase, X402MinConfirmations: 3,
		X402CorroborateAbove: 7,
	}
	payTo, _ := wallet.ParseAddress("0x70997970c51812dc3a010c7d01b50e0d17dc79c8")
	asset, _ := wallet.ParseAddress("0x833589fcd6edb6e08f4c7c32d4f71b54bda02913")
	want := x402.Terms{
		Chain: 84532, Asset: asset, PayTo: payTo, Service: "Some Gateway", Host: "gateway.example:8443",
		Confirmations: 3, CorroborateAbove: 7,
	}
	got, err := newTerms(cfg, poolOf(t, "base_mainnet", 84532))
	require.NoError(t, err)
	expect.Equal(t, got, want)
	expect.True(t, got.Open(), got)
	if got, err = newTerms(cfg, poolOf(t, "base_mainnet", 0)); err != nil || got.Chain != 8453 {
		t.Errorf("without an id of its own the chain is %d, %v", got.Chain, err)
	}
	if _, err = newTerms(cfg, poolOf(t, "eth_mainnet", 0)); !errors.Is(err, errNothingToRead) {
		t.Errorf("paid on a chain that has no upstreams: %v", err)
	}
	cfg.X402PayTo = ""
	if got, err = newTerms(cfg, poolOf(t, "eth_mainnet", 0)); err != nil || got.Open() {
		t.Errorf("nobody to pay to: %+v, %v", got, err)
	}
}

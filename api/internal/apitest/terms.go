package apitest

import (
	"testing"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/payments/x402"
)

// Terms returns the terms of a seller on Base.
func Terms(t *testing.T) x402.Terms {
	t.Helper()
	terms := x402.Terms{
		Chain: 8453, Service: "Chain Access Gateway", Host: "gateway.example", Confirmations: 2,
		CorroborateAbove: 1_000_000,
	}
	for text, to := range map[string]*wallet.Address{
		"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913": &terms.Asset,
		"0x70997970C51812dc3A010C7d01b50e0d17dc79C8": &terms.PayTo,
	} {
		var err error
		if *to, err = wallet.ParseAddress(text); err != nil {
			t.Fatal(err)
		}
	}
	return terms
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/accounts"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/chainaccess/gateway/internal/sandbox"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
)

// seller fakes the gateway: it redeems payments on the sandbox's chain at the second attempt.
type seller struct {
	t       *testing.T
	box     *sandbox.Sandbox
	country string
	rpc     string
	asked   atomic.Int32
	paid    atomic.Pointer[string]
}

const credentialOfTheTest = "cagx_of-the-test"

func newSeller(t *testing.T, country string) (*seller, string) {
	t.Helper()
	box, err := sandbox.Start(t.Context(), sandbox.Options{
		Chains: []chain.ID{chain.BaseMainnet}, BlockTime: 200 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = box.Close() })
	s := &seller{t: t, box: box, country: country, rpc: box.Upstreams()[0].URL}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	mux.HandleFunc("GET /x402", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w,
			`{"asset":"USDC","assetAddress":%q,"payTo":%q,"chainId":8453,"header":"X-PAYMENT","redeem":%q,"taxCountry":%q,"unitsPerPayment":10000,
			"messageToSign":"Some Gateway x402 redeem\n{tx_hash}","tiers":[{"name":"balanced","netAmountRequired":"90000","maxAmountRequired":"108000"}]}`,
			sandbox.USDC(chain.BaseMainnet).Hex(), box.Seller().Address.Hex(), server.URL+"/x402/redeem", country)
	})
	mux.Handle(sandbox.FaucetPath, box.Faucet(time.Now))
	mux.HandleFunc("POST /x402/redeem", s.redeem)
	mux.HandleFunc("POST /rpc/polygon_pos", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-PAYMENT") != credentialOfTheTest {
			t.Errorf("the call carries %q", r.Header.Get("X-PAYMENT"))
		}
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":"0x7"}`)
	})
	mux.HandleFunc("GET /x402/receipts/{tx}", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w,
			`{"settlements":[{"amount":"0.108000","tax":{"treatment":"20 % VAT."},"bought":{"units":10000,"used":1}}]}`)
	})
	return s, server.URL
}

func (s *seller) redeem(w http.ResponseWriter, r *http.Request) {
	var body struct {
		TxHash          string `json:"tx_hash"`
		Tier, Signature string
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		s.t.Error(err)
	}
	if s.asked.Add(1) == 1 {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusAccepted)
		return
	}
	payer, amount := s.payment(r.Context(), common.HexToHash(body.TxHash))
	signature, err := hexutil.Decode(body.Signature)
	if err != nil || len(signature) != crypto.SignatureLength {
		s.t.Fatalf("signature %q: %v", body.Signature, err)
	}
	signature[crypto.RecoveryIDOffset] -= 27
	key, err := crypto.SigToPub(accounts.TextHash([]byte("Some Gateway x402 redeem\n"+body.TxHash)), signature)
	if err != nil || crypto.PubkeyToAddress(*key) != payer || body.Tier != "balanced" {
		s.t.Errorf("signed by %v (%v) on %s, paid by %s", key, err, body.Tier, payer)
	}
	s.paid.Store(&amount)
	fmt.Fprintf(w, `{"credential":%q,"units":10000,"tier":"balanced","expires_at":"2026-11-20T15:05:00Z"}`,
		credentialOfTheTest)
}

// payment returns the payer and the amount that a transaction pays to the seller.
func (s *seller) payment(ctx context.Context, tx common.Hash) (payer common.Address, amount string) {
	s.t.Helper()
	node, err := ethclient.DialContext(ctx, s.rpc)
	if err != nil {
		s.t.Fatal(err)
	}
	defer node.Close()
	receipt, err := node.TransactionReceipt(ctx, tx)
	if err != nil || len(receipt.Logs) != 1 {
		s.t.Fatalf("%s: %+v, %v", tx, receipt, err)
	}
	log := receipt.Logs[0]
	if log.Address != sandbox.USDC(chain.BaseMainnet) ||
		common.BytesToAddress(log.Topics[2].Bytes()) != s.box.Seller().Address {
		s.t.Errorf("%s is no transfer of USDC to the seller: %+v", tx, log)
	}
	return common.BytesToAddress(log.Topics[1].Bytes()), new(hexutil.Big).ToInt().SetBytes(log.Data).String()
}

// pays runs the command and returns what it prints.
func pays(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var started bool
	var out bytes.Buffer
	cmd := command(&started)
	cmd.SetArgs(append([]string{"pay"}, args...))
	cmd.SetOut(&out)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestPay_RunsTheWholeSequenceAndPrintsEachStep(t *testing.T) {
	t.Parallel()
	for country, want := range map[string]string{"": "108000", "US": "90000"} {
		t.Run("country "+country, func(t *testing.T) {
			t.Parallel()
			s, url := newSeller(t, country)
			out, err := pays(t, "--url", url+"/", "--chain", "polygon_pos")
			if err != nil {
				t.Fatalf("%v after %s", err, out)
			}
			if amount := s.paid.Load(); amount == nil || *amount != want {
				t.Errorf("it paid %v, want %s", amount, want)
			}
			last := -1
			for _, step := range []string{
				"wallet   0x", "\nmenu     ", "\nfaucet   gave 50000000", "\npay      " + want,
				"\nsign     \"Some Gateway x402 redeem\\n0x", "\nredeem   not enough confirmations yet, retry in 1 s",
				"\nredeem   10000 units on balanced until 2026-11-20T15:05:00Z: " + credentialOfTheTest,
				"\ncall     eth_gasPrice on polygon_pos answers \"0x7\"",
				"\nreceipt  0.108000 USDC for 10000 units. 20 % VAT. " + url + "/x402/receipts/0x",
			} {
				at := strings.Index(out, step)
				if at <= last {
					t.Errorf("%q does not follow: %s", step, out)
				}
				last = at
			}
		})
	}
}

func TestPay_SaysInOneSentenceWhatFails(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"tiers":[]}`)
	}))
	t.Cleanup(closed.Close)
	away := httptest.NewServer(nil)
	away.Close()
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no menu", http.StatusNotFound)
	}))
	t.Cleanup(broken.Close)
	for want, args := range map[string][]string{
		"choose cheap, balanced or fast": {"--tier", "gold"},
		"eth_mainnet, base_mainnet":      {"--chain", "bitcoin"},
		"--timeout must be":              {"--timeout", "10ms"},
		"sells nothing today":            {"--url", closed.URL},
		"start gateway-dev":              {"--url", away.URL},
		"the menu answered 404: no menu": {"--url", broken.URL},
		"extra":                          {"extra"},
	} {
		t.Run(want, func(t *testing.T) {
			out, err := pays(t, args...)
			in := expect.In(t, "%v", args)
			require.Error(in, err, out)
			expect.Contains(in, err.Error(), want, out)
			expect.NotContains(in, err.Error(), "\n", out)
		})
	}
}

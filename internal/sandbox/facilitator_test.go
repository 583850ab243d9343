package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math/big"
	"net/http"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/relay/chain"
)

// sold returns a quote of the sandbox's seller for USDC on Base.
func (s *Sandbox) sold() x402.Quote {
	return x402.Terms{
		Chain: 8453, Asset: wallet.Address(USDC(chain.BaseMainnet)), PayTo: wallet.Address(s.Seller().Address),
	}.
		Quote(x402.Token{Name: "USD Coin", Version: "2"}, "", "", "https://gateway.example/x402/rpc/base_mainnet")
}

// pay returns an account's payment for the first offer with the given nonce.
func pay(t *testing.T, q *x402.Quote, from EVMAccount, version int, nonce byte) *x402.Payload {
	t.Helper()
	p := &x402.Payload{Version: version, Offer: q.Offers[0], Authorization: x402.Authorization{
		From: wallet.Address(from.Address), To: q.Terms.PayTo, Value: q.Offers[0].Amount,
		ValidBefore: time.Now().Add(time.Hour).Unix(), Nonce: x402.Nonce{nonce},
	}}
	digest := p.Digest(q.Terms, q.Token)
	var err error
	p.Signature, err = crypto.Sign(digest[:], from.Key)
	must(t, err)
	p.Signature[64] += 27
	return p
}

// ask posts a payment to the facilitator.
func (f *Facilitator) ask(t *testing.T, path string, q *x402.Quote,
	p *x402.Payload,
) (answer map[string]any, err error) {
	t.Helper()
	body, err := q.FacilitatorRequest(p)
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.URL+path, bytes.NewReader(body))
	must(t, err)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	must(t, err)
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatalf("%s answered %d %s", path, resp.StatusCode, text)
	}
	return answer, nil
}

func (s *Sandbox) balance(t *testing.T, of EVMAccount) int64 {
	t.Helper()
	out := s.usdc(t, chain.BaseMainnet).ask(t, "balanceOf", of.Address)
	return out[0].(*big.Int).Int64() //nolint:errcheck,forcetypeassert // a uint256
}

func TestFacilitator_SettlesWhatItsPayerSignedInBothVersions(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Chains: []chain.ID{chain.BaseMainnet}})
	f, q := s.Facilitator(), s.sold()
	for _, version := range []int{x402.Version1, x402.Version2} {
		p := pay(t, &q, s.Accounts()[6], version, byte(version))
		before := s.balance(t, s.Seller())
		verdict, err := f.ask(t, "/verify", &q, p)
		in := expect.In(t, "version %d: the verdict", version)
		require.NoError(in, err)
		require.Equal[any](in, verdict["isValid"], true)
		require.NotEqual(in, verdict["payer"], nil)
		outcome, err := f.ask(t, "/settle", &q, p)
		in = expect.In(t, "version %d: the outcome", version)
		require.NoError(in, err)
		require.Equal[any](in, outcome["success"], true)
		require.Equal[any](in, outcome["network"], q.Terms.Network(version))
		//nolint:errcheck,forcetypeassert // a string
		require.HasPrefix(in, outcome["transaction"].(string), "0x")
		if got := s.balance(t, s.Seller()) - before; got != 54_000 {
			t.Errorf("version %d moved %d", version, got)
		}
		again, err := f.ask(t, "/settle", &q, p)
		in = expect.In(t, "version %d settled again", version)
		require.NoError(in, err)
		expect.Equal[any](in, again["success"], false)
		expect.Equal[any](in, again["transaction"], "")
	}
	if f.Settlements() != 4 {
		t.Errorf("it counted %d requests to settle", f.Settlements())
	}
}

func TestFacilitator_RefusesWhatWouldNotSettle(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Chains: []chain.ID{chain.BaseMainnet}})
	f, q := s.Facilitator(), s.sold()
	for reason, spoil := range map[string]func(*x402.Payload){
		"invalid_exact_evm_payload_signature":                  func(p *x402.Payload) { p.Signature[5]++ },
		"invalid_exact_evm_payload_recipient_mismatch":         func(p *x402.Payload) { p.To[3]++ },
		"invalid_exact_evm_payload_authorization_value":        func(p *x402.Payload) { p.Value-- },
		"invalid_exact_evm_payload_authorization_valid_before": func(p *x402.Payload) { p.ValidBefore = 1 },
		"invalid_exact_evm_payload_authorization_valid_after":  func(p *x402.Payload) { p.ValidAfter = p.ValidBefore },
		"insufficient_funds":                                   nil,
	} {
		t.Run(reason, func(t *testing.T) {
			from := s.Accounts()[6]
			if spoil == nil {
				from = s.Seller() // it has no USDC
			}
			p := pay(t, &q, from, x402.Version1, 1)
			if spoil != nil {
				spoil(p)
			} else {
				p.To = q.Terms.PayTo
			}
			verdict, err := f.ask(t, "/verify", &q, p)
			in := expect.In(t, "%s: the verdict", reason)
			require.NoError(in, err)
			expect.Equal[any](in, verdict["isValid"], false)
			expect.Equal[any](in, verdict["invalidReason"], reason)
			outcome, err := f.ask(t, "/settle", &q, p)
			in = expect.In(t, "%s: the outcome", reason)
			require.NoError(in, err)
			expect.Equal[any](in, outcome["success"], false)
			expect.Equal[any](in, outcome["errorReason"], reason)
			expect.Equal[any](in, outcome["transaction"], "")
		})
	}
}

func TestFacilitator_CanSettleAndNotAnswer(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Chains: []chain.ID{chain.BaseMainnet}})
	f, q := s.Facilitator(), s.sold()
	before := s.balance(t, s.Seller())
	f.TroubleAfter(Trouble{Cut: true})
	if outcome, err := f.ask(t, "/settle", &q, pay(t, &q, s.Accounts()[6], x402.Version2, 1)); err == nil {
		t.Errorf("it answered %v", outcome)
	}
	if got := s.balance(t, s.Seller()) - before; got != 54_000 {
		t.Errorf("%d moved", got)
	}
	f.TroubleAfter(Trouble{})
	if outcome, err := f.ask(t, "/settle", &q, pay(t, &q, s.Accounts()[6], x402.Version2, 2)); err != nil ||
		outcome["success"] != true {
		t.Errorf("after the trouble: %v, %v", outcome, err)
	}
}

package facilitator_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/facilitator"
	"github.com/chainaccess/gateway/payments/x402"
)

var (
	payer = wallet.Address{1}
	tx    = "0x" + strings.Repeat("ab", 32)
)

// ask returns a quote and a payment for it in a protocol version.
func ask(version int) (*x402.Quote, *x402.Payload) {
	q := x402.Terms{Chain: 8453, Asset: wallet.Address{3}, PayTo: wallet.Address{2}}.Quote(x402.Token{
		Name: "USD Coin", Version: "2",
	}, plan.Cheap, "", "https://x.example/")
	return &q, &x402.Payload{Version: version, Offer: q.Offers[0], Authorization: x402.Authorization{
		From: payer, To: wallet.Address{2}, Value: 54_000, ValidBefore: 2_000_000_000, Nonce: x402.Nonce{9},
		Signature: []byte{1, 2},
	}}
}

// server is a facilitator that answers every request the same way and counts the requests.
type server struct {
	*httptest.Server

	got atomic.Int64
}

func serve(t *testing.T, answer http.HandlerFunc) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.got.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func client(t *testing.T, url string) *facilitator.Client {
	t.Helper()
	c, err := facilitator.New(facilitator.Options{
		URL: url, VerifyTimeout: 2 * time.Second, SettleTimeout: 2 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// breakOff closes the connection without a response.
func breakOff(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

func redirect(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
}

func TestSettle_SendsOneRequestWhateverComesOfIt(t *testing.T) {
	t.Parallel()
	good := `{"success":true,"transaction":"` + tx + `","network":"base","payer":"` + payer.String() + `"}`
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   error // nil: settled
		reason string
	}{
		"settled":                 {says(200, good), nil, ""},
		"settled, no payer named": {says(200, `{"success":true,"transaction":"`+tx+`","network":"base"}`), nil, ""},
		"refused for its form": {
			says(200, `{"success":false,"errorReason":"invalid_exact_evm_signature","transaction":"",`+
				`"network":"base"}`), nil, "invalid_exact_evm_signature",
		},
		"refused with a status": {
			says(400, `{"success":false,"errorReason":"invalid_exact_evm_payload_signature","transaction":""}`), nil,
			"invalid_exact_evm_payload_signature",
		},
		"failed with a transaction": {
			says(200, `{"success":false,"errorReason":"invalid_exact_evm_payload_signature","transaction":"`+tx+`"}`),
			facilitator.ErrUnknown, "",
		},
		"failed for reasons unknown": {
			says(200, `{"success":false,"errorReason":"unexpected_settle_error","transaction":""}`),
			facilitator.ErrUnknown, "",
		},
		"another network": {
			says(200, strings.Replace(good, "base", "base-sepolia", 1)), facilitator.ErrUnknown, "",
		},
		"another payer": {
			says(200, strings.Replace(good, payer.String(), wallet.Address{7}.String(), 1)), facilitator.ErrUnknown, "",
		},
		"no transaction": {
			says(200, `{"success":true,"transaction":"","network":"base"}`), facilitator.ErrUnknown, "",
		},
		"no outcome": {says(200, `{}`), facilitator.ErrUnknown, ""},
		"no JSON":    {says(502, `<html>`), facilitator.ErrUnknown, ""},
		"too long": {
			says(200, `{"success":true,"x":"`+strings.Repeat("a", 70_000)+`"}`), facilitator.ErrUnknown, "",
		},
		"broken off":   {breakOff, facilitator.ErrUnknown, ""},
		"redirected":   {redirect, facilitator.ErrUnknown, ""},
		"server error": {says(500, good), facilitator.ErrUnknown, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, c.answer)
			q, p := ask(x402.Version1)
			got, err := client(t, s.URL).Settle(t.Context(), q, p)
			if refusal, refused := errors.AsType[*facilitator.RefusalError](err); refused != (c.reason != "") ||
				(refused && refusal.Reason != c.reason) {
				t.Errorf("%v, want a refusal for %q", err, c.reason)
			} else if !refused && (!errors.Is(err, c.want) || (err == nil && got.String() != tx)) {
				t.Errorf("%s, %v, want %v", got, err, c.want)
			}
			if n := s.got.Load(); n != 1 {
				t.Errorf("%d requests were sent, want 1", n)
			}
		})
	}
}

// A reason that may follow a transaction that was sent, or an authorization that was used before,
// is not a refusal.
func TestSettle_ReasonsThatATransactionMayHaveAreNoRefusals(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{
		"invalid_exact_evm_transaction_failed", "transaction failed", "invalid_exact_evm_nonce_already_used",
		"invalid_exact_evm_transaction_simulation_failed", "invalid_exact_evm_payload_simulation_failed",
		"invalid_exact_evm_failed_to_get_receipt", "invalid_exact_evm_failed_to_execute_transfer",
		"invalid_exact_evm_verification_failed", "invalid_exact_evm_insufficient_balance", "insufficient_funds",
		"payment_expired", "invalid_exact_evm_payload_authorization_valid_before", "invalid_exact_evm_of_next_year", "",
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			s := serve(t, says(http.StatusOK, `{"success":false,"errorReason":"`+reason+`","transaction":""}`))
			q, p := ask(x402.Version2)
			if _, err := client(t, s.URL).Settle(t.Context(), q, p); !errors.Is(err, facilitator.ErrUnknown) {
				t.Errorf("%v, want unknown", err)
			}
		})
	}
}

func TestSettle_HangingOrAbandonedOneIsWaitedForAndUnknown(t *testing.T) {
	t.Parallel()
	held := make(chan struct{})
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-held:
		case <-r.Context().Done():
		}
	})
	t.Cleanup(func() { close(held) })
	ctx, leave := context.WithCancel(t.Context())
	leave()
	c, err := facilitator.New(facilitator.Options{URL: s.URL, SettleTimeout: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	q, p := ask(x402.Version2)
	if _, err := c.Settle(ctx, q, p); !errors.Is(err, facilitator.ErrUnknown) ||
		!errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want unknown for the deadline", err)
	}
	if n := s.got.Load(); n != 1 {
		t.Errorf("%d requests were sent, want 1", n)
	}
}

func TestFacilitator_UnreachableHasMovedNothing(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	q, p := ask(x402.Version1)
	c := client(t, "http://secret:canary@"+address)
	_, err = c.Settle(t.Context(), q, p)
	if !errors.Is(err, facilitator.ErrUnavailable) || errors.Is(err, facilitator.ErrUnknown) {
		t.Errorf("settle: %v", err)
	}
	if err := c.Verify(t.Context(), q, p); !errors.Is(err, facilitator.ErrUnavailable) {
		t.Errorf("verify: %v", err)
	}
	if strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), address) {
		t.Errorf("the error tells the address: %v", err)
	}
}

func TestVerify_TakesAVerdictOnlyWhenItIsOne(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   error
		reason string
	}{
		"good": {says(200, `{"isValid":true,"payer":"`+payer.String()+`"}`), nil, ""},
		"bad": {
			says(200, `{"isValid":false,"invalidReason":"insufficient_funds"}`), nil, "insufficient_funds",
		},
		"bad, a status": {says(400, `{"isValid":false,"invalidReason":"<b>no</b>"}`), nil, "unnamed"},
		"another payer": {
			says(200, `{"isValid":true,"payer":"0x0000000000000000000000000000000000000009"}`),
			facilitator.ErrUnavailable, "",
		},
		"good, a status": {says(500, `{"isValid":true}`), facilitator.ErrUnavailable, ""},
		"no verdict":     {says(200, `{"success":true}`), facilitator.ErrUnavailable, ""},
		"broken off":     {breakOff, facilitator.ErrUnavailable, ""},
		"redirected":     {redirect, facilitator.ErrUnavailable, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, c.answer)
			q, p := ask(x402.Version2)
			err := client(t, s.URL+"/base/").Verify(t.Context(), q, p)
			if refusal, refused := errors.AsType[*facilitator.RefusalError](err); refused != (c.reason != "") ||
				(refused && refusal.Reason != c.reason) {
				t.Errorf("%v, want a refusal for %q", err, c.reason)
			} else if !refused && !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			if n := s.got.Load(); n != 1 {
				t.Errorf("%d requests were sent, want 1", n)
			}
		})
	}
}

func TestFacilitator_GetsThePaymentAndItsOwnCredentials(t *testing.T) {
	t.Parallel()
	type request struct {
		path, user, password string
		body                 map[string]any
	}
	got := make(chan request, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen := request{path: r.URL.Path}
		seen.user, seen.password, _ = r.BasicAuth()
		if err := json.NewDecoder(r.Body).Decode(&seen.body); err != nil {
			t.Error(err)
		}
		got <- seen
		_, _ = io.WriteString(w, `{"isValid":true}`)
	}))
	t.Cleanup(s.Close)
	q, p := ask(x402.Version2)
	if err := client(t, strings.Replace(s.URL, "://", "://name:word@", 1)+"/v2/").Verify(t.Context(), q,
		p); err != nil {
		t.Fatal(err)
	}
	seen := <-got
	expect.Equal(t, seen.path, "/v2/verify")
	expect.Equal(t, seen.user, "name")
	expect.Equal(t, seen.password, "word")
	expect.Equal[any](t, seen.body["x402Version"], 2.0)
	expect.NotEqual(t, seen.body["paymentPayload"], nil)
}

func TestFacilitator_InvalidAddressesAreRefusedWithoutRepeatingThem(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"", "facilitator.example", "ftp://canary.example", "https://canary.example/?key=canary", "http://%zz",
	} {
		if _, err := facilitator.New(facilitator.Options{URL: url}); err == nil ||
			strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: %v", url, err)
		}
	}
}

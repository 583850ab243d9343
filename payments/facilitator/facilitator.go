// Package facilitator is a client of an x402 facilitator: POST /verify and POST /settle. It stores
// nothing and makes no decision about a payment. Its errors distinguish failures that moved no
// money from failures that may have moved money.
package facilitator

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/payments/x402"
)

// Errors of Verify and Settle. A facilitator's refusal is a *RefusalError. Every other failure
// wraps one of these with details for a log.
var (
	// ErrUnavailable: the verification got no usable answer, or the settlement got no connection.
	// No money moved.
	ErrUnavailable = errors.New("the facilitator gave no usable answer")
	// ErrUnknown: the request to settle may have arrived, and no answer states its outcome. Only
	// the chain can tell.
	ErrUnknown = errors.New("the outcome of the settlement is unknown")
)

// RefusalError is a refusal by the facilitator. Reason is an error code of the x402 protocol.
type RefusalError struct{ Reason string }

// Error includes the reason.
func (r *RefusalError) Error() string { return "the facilitator refused: " + r.Reason }

// Options of a Client. Only URL is required.
type Options struct {
	// base URL of /verify and /settle; credentials in it are sent as HTTP basic authentication
	URL           string
	VerifyTimeout time.Duration // ten seconds by default
	SettleTimeout time.Duration // includes the wait until the transaction is mined; thirty seconds by default
}

const (
	verifyTimeout = 10 * time.Second
	settleTimeout = 30 * time.Second
	dialTimeout   = 5 * time.Second
	maxAnswer     = 64 << 10
	// maxConnections bounds the concurrent verifications and settlements. Others wait until their
	// timeouts.
	maxConnections = 64
)

// Client calls one facilitator. It is safe for concurrent use.
type Client struct {
	base           *url.URL
	verify, settle time.Duration
	transport      *http.Transport
}

// New returns a client. Its error describes what is wrong with the URL without repeating it.
func New(o Options) (*Client, error) {
	base, err := url.Parse(strings.TrimRight(o.URL, "/"))
	if err != nil || base.Host == "" || (base.Scheme != "https" && base.Scheme != "http") || base.RawQuery != "" ||
		base.Fragment != "" {
		return nil, errors.New("takes an http or https URL without a query")
	}
	if o.VerifyTimeout <= 0 {
		o.VerifyTimeout = verifyTimeout
	}
	if o.SettleTimeout <= 0 {
		o.SettleTimeout = settleTimeout
	}
	return &Client{base, o.VerifyTimeout, o.SettleTimeout, onceTransport()}, nil
}

// onceTransport returns a transport that never sends a request twice: a fresh connection for each
// request, and HTTP/1.1 only. A transport follows no redirects.
func onceTransport() *http.Transport {
	return &http.Transport{
		DialContext:            (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout:    dialTimeout,
		TLSNextProto:           map[string]func(string, *tls.Conn) http.RoundTripper{},
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxConnsPerHost:        maxConnections,
		MaxResponseHeaderBytes: maxAnswer,
	}
}

// verdict is the response of /verify.
type verdict struct {
	Valid  *bool  `json:"isValid"`
	Reason string `json:"invalidReason"`
	Payer  string `json:"payer"`
}

// Verify asks whether a payment would settle. It returns nil if it would, a *RefusalError if it
// would not, and ErrUnavailable if the facilitator gave no usable answer. An answer about another
// payer is not usable.
func (c *Client) Verify(ctx context.Context, q *x402.Quote, p *x402.Payload) error {
	body, err := q.FacilitatorRequest(p)
	if err != nil {
		return fmt.Errorf("write a payment: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.verify)
	defer cancel()
	status, answer, _, err := c.post(ctx, "verify", body)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	var v verdict
	switch err := json.Unmarshal(answer, &v); {
	case err != nil || v.Valid == nil:
		return fmt.Errorf("%w: status %d and no verdict", ErrUnavailable, status)
	case !*v.Valid:
		return &RefusalError{word(v.Reason)}
	case status != http.StatusOK:
		return fmt.Errorf("%w: status %d with a verdict that is good", ErrUnavailable, status)
	case !isPayer(v.Payer, p.From):
		return fmt.Errorf("%w: the verdict is on another payer", ErrUnavailable)
	}
	return nil
}

// outcome is the response of /settle.
type outcome struct {
	Success     *bool  `json:"success"`
	Reason      string `json:"errorReason"`
	Transaction string `json:"transaction"`
	Network     string `json:"network"`
	Payer       string `json:"payer"`
}

// Settle has a payment settled. It sends one request and never retries. It returns the transaction,
// or a *RefusalError when no transaction was made, ErrUnavailable when the request was never sent,
// and ErrUnknown in all other cases. Cancelling ctx does not interrupt it.
func (c *Client) Settle(ctx context.Context, q *x402.Quote, p *x402.Payload) (x402.TxHash, error) {
	body, err := q.FacilitatorRequest(p)
	if err != nil {
		return x402.TxHash{}, fmt.Errorf("write a payment: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.settle)
	defer cancel()
	status, answer, left, err := c.post(ctx, "settle", body)
	switch {
	case err != nil && !left:
		return x402.TxHash{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	case err != nil:
		return x402.TxHash{}, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	var o outcome
	if err := json.Unmarshal(answer, &o); err != nil || o.Success == nil {
		return x402.TxHash{}, fmt.Errorf("%w: status %d and no outcome", ErrUnknown, status)
	}
	tx, named := x402.ParseTxHash(o.Transaction)
	switch {
	case !*o.Success && o.Transaction == "" && formReasons[o.Reason]:
		return x402.TxHash{}, &RefusalError{word(o.Reason)}
	case !*o.Success:
		return x402.TxHash{}, fmt.Errorf("%w: it failed with %s", ErrUnknown, word(o.Reason))
	case status != http.StatusOK, !named, tx.IsZero(), o.Network != q.Terms.Network(p.Version),
		!isPayer(o.Payer, p.From):
		return x402.TxHash{}, fmt.Errorf("%w: status %d with an outcome that is not of this payment", ErrUnknown,
			status)
	}
	return tx, nil
}

// formReasons are the error codes that concern only the form or the signature of a payment. An
// authorization refused with one of them can never have moved money. They come from the reference
// facilitators and the protocol's list of errors. Any other code may follow a transaction that was
// sent, or one that used the authorization earlier: afterwards the wallet is empty, the nonce is
// used or the time is over. Facilitators also return "invalid_exact_evm_transaction_failed" when
// waiting for a transaction timed out.
var formReasons = map[string]bool{
	"invalid_x402_version": true, "invalid_scheme": true, "unsupported_scheme": true, "invalid_network": true,
	"invalid_payload": true, "invalid_payment_requirements": true, "unsupported_payload_type": true,
	"invalid_exact_evm_scheme": true, "invalid_exact_evm_network_mismatch": true, "invalid_exact_evm_payload": true,
	"invalid_exact_evm_missing_eip712_domain": true, "invalid_exact_evm_token_name_mismatch": true,
	"invalid_exact_evm_token_version_mismatch": true, "invalid_exact_evm_recipient_mismatch": true,
	"invalid_exact_evm_payload_recipient_mismatch": true, "invalid_exact_evm_authorization_value": true,
	"invalid_exact_evm_required_amount": true, "invalid_exact_evm_payload_authorization_value": true,
	"invalid_exact_evm_payload_authorization_value_mismatch": true, "invalid_exact_evm_payload_missing_signature": true,
	"invalid_exact_evm_signature_format": true, "invalid_exact_evm_failed_to_parse_signature": true,
	"invalid_exact_evm_signature": true, "invalid_exact_evm_payload_signature": true,
}

// post sends one request. left reports whether the request may have been sent.
func (c *Client) post(ctx context.Context, path string, body []byte) (status int, answer []byte, left bool, err error) {
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	to := c.base.JoinPath(path)
	to.User = nil
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(body))
	if err != nil {
		return 0, nil, false, errors.New("the request cannot be made")
	}
	req.GetBody = nil // so that the transport cannot resend the body
	req.Header = http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json"}, "User-Agent": {"chain-access-gateway"},
	}
	if u := c.base.User; u != nil {
		password, _ := u.Password()
		req.SetBasicAuth(u.Username(), password)
	}
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return 0, nil, connected.Load(), safe(err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return resp.StatusCode, nil, true, safe(err)
	case len(answer) > maxAnswer:
		return resp.StatusCode, nil, true, errors.New("the answer is too long")
	}
	return resp.StatusCode, answer, true, nil
}

// safe returns the innermost error, whose text contains no address.
func safe(err error) error {
	if _, lookup := errors.AsType[*net.DNSError](err); lookup {
		return errors.New("its name cannot be looked up")
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err
}

// isPayer reports whether an answer names the payer or no payer at all.
func isPayer(named string, payer wallet.Address) bool {
	if named == "" {
		return true
	}
	a, err := wallet.ParseAddress(named)
	return err == nil && a == payer
}

const maxWord = 100

// word returns the reason if it looks like an error code, and "unnamed" otherwise. Reasons are
// shown to payers and written to logs.
func word(reason string) string {
	ok := reason != "" && len(reason) <= maxWord
	for i := 0; ok && i < len(reason); i++ {
		b := reason[i]
		ok = b == '_' || b == '-' || ('a' <= b && b <= 'z') || ('A' <= b && b <= 'Z') || ('0' <= b && b <= '9')
	}
	if !ok {
		return "unnamed"
	}
	return reason
}

package wallet_test

import (
	"errors"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
)

// expected returns a message of the service and what the service expects of it.
func expected(t *testing.T) (wallet.Message, wallet.Expect, time.Time) {
	t.Helper()
	now := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	_, address := key(t, "expected")
	m := wallet.Message{
		Domain: "gateway.example", Address: address, Statement: new("Bind this key."),
		URI: "https://gateway.example/keys/bind", ChainID: 1, Nonce: "0123456789abcdef",
		IssuedAt: wallet.TimestampOf(now), ExpirationTime: wallet.TimestampOf(now.Add(10 * time.Minute)),
	}
	return m, wallet.Expect{
		Domain: m.Domain, URI: m.URI, ChainID: 1, Nonce: m.Nonce, Address: address, Statement: new("Bind this key."),
		MaxAge: 10 * time.Minute,
	}, now
}

func TestMessage_OfTheServiceIsValidUntilItExpires(t *testing.T) {
	t.Parallel()
	m, e, now := expected(t)
	for _, after := range []time.Duration{-time.Minute, 0, time.Second, 10*time.Minute - time.Millisecond} {
		if err := e.Check(&m, now.Add(after)); err != nil {
			t.Errorf("after %s: %v", after, err)
		}
	}
}

func TestExpect_EveryDifferingFieldIsRefusedByItsName(t *testing.T) {
	t.Parallel()
	_, other := key(t, "another")
	for name, c := range map[string]struct {
		change func(*wallet.Message)
		want   *wallet.Error
	}{
		"domain":      {func(m *wallet.Message) { m.Domain = "other.example" }, wallet.ErrDomain},
		"a subdomain": {func(m *wallet.Message) { m.Domain = "a.gateway.example" }, wallet.ErrDomain},
		"a longer domain": {
			func(m *wallet.Message) { m.Domain = "gateway.example.evil.example" }, wallet.ErrDomain,
		},
		"a point behind the domain": {func(m *wallet.Message) { m.Domain = "gateway.example." }, wallet.ErrDomain},
		"the domain in capitals":    {func(m *wallet.Message) { m.Domain = "Gateway.example" }, wallet.ErrDomain},
		"a port": {
			func(m *wallet.Message) { m.Domain = "gateway.example:443" }, wallet.ErrDomain,
		},
		"a user": {
			func(m *wallet.Message) { m.Domain = "gateway.example@evil.example" }, wallet.ErrDomain,
		},
		"a domain that looks alike": {func(m *wallet.Message) { m.Domain = "gatevvay.example" }, wallet.ErrDomain},
		"a digit that looks alike":  {func(m *wallet.Message) { m.Domain = "gatew4y.example" }, wallet.ErrDomain},
		"a homoglyph in punycode": {
			func(m *wallet.Message) { m.Domain = "xn--gtewy-3ve3e.example" }, wallet.ErrDomain,
		},
		"a homoglyph, percent-encoded": {
			func(m *wallet.Message) { m.Domain = "g%D0%B0teway.example" }, wallet.ErrDomain,
		},
		"the domain, percent-encoded": {func(m *wallet.Message) { m.Domain = "%67ateway.example" }, wallet.ErrDomain},
		"no domain":                   {func(m *wallet.Message) { m.Domain = "" }, wallet.ErrDomain},
		"scheme":                      {func(m *wallet.Message) { m.Scheme = "https" }, wallet.ErrDomain},
		"chain":                       {func(m *wallet.Message) { m.ChainID = 8453 }, wallet.ErrChainID},
		"no chain":                    {func(m *wallet.Message) { m.ChainID = 0 }, wallet.ErrChainID},
		"nonce":                       {func(m *wallet.Message) { m.Nonce = "fedcba9876543210" }, wallet.ErrNonce},
		"nonce in capitals":           {func(m *wallet.Message) { m.Nonce = "0123456789ABCDEF" }, wallet.ErrNonce},
		"a longer nonce":              {func(m *wallet.Message) { m.Nonce += "0" }, wallet.ErrNonce},
		"wallet":                      {func(m *wallet.Message) { m.Address = other }, wallet.ErrWallet},
		"no wallet":                   {func(m *wallet.Message) { m.Address = wallet.Address{} }, wallet.ErrWallet},
		"uri": {
			func(m *wallet.Message) { m.URI = "https://gateway.example/keys" }, wallet.ErrURI,
		},
		"statement": {
			func(m *wallet.Message) { m.Statement = new("Bind that key.") }, wallet.ErrContent,
		},
		"no statement": {func(m *wallet.Message) { m.Statement = nil }, wallet.ErrContent},
		"request id":   {func(m *wallet.Message) { m.RequestID = new("1") }, wallet.ErrContent},
		"resources": {
			func(m *wallet.Message) { m.Resources = []string{"urn:recap:e30"} }, wallet.ErrContent,
		},
		"valid in a millisecond": {func(m *wallet.Message) {
			m.NotBefore = wallet.TimestampOf(m.IssuedAt.Time().Add(time.Millisecond))
		}, wallet.ErrNotYetValid},
		"expired just now": {func(m *wallet.Message) { m.ExpirationTime = m.IssuedAt }, wallet.ErrExpired},
		"issued over a minute ahead": {func(m *wallet.Message) {
			m.IssuedAt = wallet.TimestampOf(m.IssuedAt.Time().Add(time.Minute + time.Millisecond))
		}, wallet.ErrIssuedInFuture},
		"issued ten minutes ago, unlimited": {func(m *wallet.Message) {
			m.IssuedAt, m.ExpirationTime = wallet.TimestampOf(m.IssuedAt.Time().Add(-10*time.Minute)),
				wallet.Timestamp{}
		}, wallet.ErrExpired},
	} {
		t.Run(name, func(t *testing.T) {
			m, e, now := expected(t)
			c.change(&m)
			if err := e.Check(&m, now); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestExpect_WithoutFieldsFailsClosed(t *testing.T) {
	t.Parallel()
	m, _, now := expected(t)
	if err := (&wallet.Expect{}).Check(&m, now); err == nil {
		t.Error("a message counts that nothing was expected of")
	}
}

func TestRefuse_GivesTheDoorsReasonAndSeparatesAnUnreachableChain(t *testing.T) {
	t.Parallel()
	wrong := fault.From(wallet.Refuse(fault.BindingRefused, errors.Join(errors.New("bind"), wallet.ErrNonce)))
	expect.Equal(t, wrong.Reason, fault.BindingRefused)
	expect.Equal(t, wrong.HTTP(), 422)
	expect.Equal(t, wrong.Message, wallet.ErrNonce.Message)
	expect.Equal[any](t, wrong.Data["why"], "nonce")
	away := fault.From(wallet.Refuse(fault.BindingRefused,
		errors.Join(wallet.ErrChainUnreachable, errors.New("connection refused"))))
	expect.Equal(t, away.HTTP(), 503)
	expect.NotEqual(t, away.RetryAfter, 0)
	expect.Equal(t, away.Data["why"], nil)
	strange := errors.New("strange")
	if got := wallet.Refuse(fault.BindingRefused, strange); !errors.Is(got, strange) ||
		fault.From(got).Reason != fault.InternalFault {
		t.Errorf("%v", got)
	}
	if got := wallet.Refuse(fault.BindingRefused, nil); got != nil {
		t.Errorf("%v", got)
	}
}

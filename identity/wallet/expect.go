package wallet

import (
	"slices"
	"time"
)

// Expect is what a message must contain to be accepted. Every field is compared exactly, domains
// too; the message must leave out an optional field that is left out here.
type Expect struct {
	Domain  string
	URI     string
	ChainID uint64
	Nonce   string
	Address Address

	Scheme    string
	Statement *string
	RequestID *string
	Resources []string

	// MaxAge is the maximum age of a message since its issue, whatever the message says; zero for
	// none.
	MaxAge time.Duration
}

// maxSkew is how far ahead of ours the clock of a message's author may be.
const maxSkew = time.Minute

// Check returns why the message is not accepted: the first of ErrDomain, ErrChainID, ErrNonce,
// ErrWallet, ErrURI, ErrContent, ErrExpired by MaxAge, and the errors of Message.Current. It does
// not check a signature.
func (e *Expect) Check(m *Message, now time.Time) error {
	switch {
	case m.Domain != e.Domain || m.Scheme != e.Scheme:
		return ErrDomain
	case m.ChainID != e.ChainID:
		return ErrChainID
	case m.Nonce != e.Nonce:
		return ErrNonce
	case m.Address != e.Address:
		return ErrWallet
	case m.URI != e.URI:
		return ErrURI
	case !same(m.Statement, e.Statement) || !same(m.RequestID, e.RequestID) || !slices.Equal(m.Resources, e.Resources):
		return ErrContent
	case e.MaxAge > 0 && !now.Before(m.IssuedAt.Time().Add(e.MaxAge)):
		return ErrExpired
	}
	return m.Current(now)
}

// Current checks the message's own times: ErrExpired from its Expiration Time on, ErrNotYetValid
// before its Not Before, ErrIssuedInFuture when it was issued more than a minute after now.
func (m *Message) Current(now time.Time) error {
	switch {
	case !m.ExpirationTime.IsZero() && !now.Before(m.ExpirationTime.Time()):
		return ErrExpired
	case !m.NotBefore.IsZero() && now.Before(m.NotBefore.Time()):
		return ErrNotYetValid
	case m.IssuedAt.Time().After(now.Add(maxSkew)):
		return ErrIssuedInFuture
	}
	return nil
}

func same(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

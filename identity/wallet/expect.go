package wallet

import (
	"slices"
	"time"
)

// Expect is what a message must say to count. Every member is compared exactly, domains too; an
// optional one that is left out expects that the message leaves it out.
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

	// MaxAge ends a message that long after its issue, whatever it says itself; zero leaves it to
	// the message.
	MaxAge time.Duration
}

// maxSkew is how far ahead of ours the clock may be that wrote Issued At.
const maxSkew = time.Minute

// Check says why the message does not count: the first of ErrDomain, ErrChainID, ErrNonce,
// ErrWallet, ErrURI, ErrContent, and those of Message.Current. It says nothing about a signature.
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

// Current reports whether the message's own times let it count now: ErrExpired from its Expiration
// Time on, ErrNotYetValid before its Not Before, ErrIssuedInFuture when it was issued more than a
// minute after now.
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

package outbox

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"time"
)

// ErrLink reports a token that was not made here for its use, or is incomplete. ErrLinkOver reports
// one that has expired.
var (
	ErrLink     = errors.New("outbox: the link was not made here, or is not complete")
	ErrLinkOver = errors.New("outbox: the link is over")
)

const (
	longestLink = 1024 // maximum length of a token, in bytes
	linkEnd     = 8    // bytes of the expiry time
)

// SealLink returns the token of a link in a mail: base64url of AES-256-GCM over its expiry (unix
// seconds) and content, with its use as additional data. It is not stored, and reveals nothing to a
// third party.
func (o *Outbox) SealLink(use string, content []byte, until time.Time) string {
	//nolint:gosec // later than 1970
	text := binary.BigEndian.AppendUint64(nil, uint64(until.Unix()))
	//nolint:gosec // this AEAD makes its nonces itself
	return base64.RawURLEncoding.EncodeToString(o.seal.held.Seal(nil, nil, append(text, content...), []byte(use)))
}

// OpenLink returns the content of a token that SealLink made for the same use. It returns ErrLink,
// or ErrLinkOver.
func (o *Outbox) OpenLink(use, token string) ([]byte, error) {
	if len(token) > longestLink {
		return nil, ErrLink
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(token)
	// The decoder ignores line ends; a token has one spelling only.
	if err != nil || base64.RawURLEncoding.EncodeToString(sealed) != token {
		return nil, ErrLink
	}
	text, err := o.seal.held.Open(nil, nil, sealed, []byte(use))
	switch {
	case err != nil || len(text) < linkEnd:
		return nil, ErrLink
	case o.now().Unix() >= int64(binary.BigEndian.Uint64(text)): //nolint:gosec // SealLink wrote it
		return nil, ErrLinkOver
	}
	return text[linkEnd:], nil
}

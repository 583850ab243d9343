package outbox

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"time"
)

// ErrLink says that a link is not one that was made here for its use, or not all of it. ErrLinkOver
// says that it was, and worked until a while ago.
var (
	ErrLink     = errors.New("outbox: the link was not made here, or is not complete")
	ErrLinkOver = errors.New("outbox: the link is over")
)

const (
	longestLink = 1024 // bytes of a token that is looked at
	linkEnd     = 8    // bytes of the instant at which it ends
)

// SealLink returns the token of a link in a mail: base64url of AES-256-GCM over its end (unix
// seconds) and what it holds, bound to what it is for. Nothing of it is kept, and it tells nothing
// to whoever sees it pass.
func (o *Outbox) SealLink(use string, content []byte, until time.Time) string {
	//nolint:gosec // later than 1970
	text := binary.BigEndian.AppendUint64(nil, uint64(until.Unix()))
	//nolint:gosec // this AEAD makes its nonces itself
	return base64.RawURLEncoding.EncodeToString(o.seal.held.Seal(nil, nil, append(text, content...), []byte(use)))
}

// OpenLink returns what SealLink closed for the same use. ErrLink, ErrLinkOver.
func (o *Outbox) OpenLink(use, token string) ([]byte, error) {
	if len(token) > longestLink {
		return nil, ErrLink
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(token)
	// one seal has one spelling; the decoder skips line ends
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

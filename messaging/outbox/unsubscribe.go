package outbox

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"slices"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
)

// UnsubscribePath is the path of unsubscribe links; they add the token. POST stops the mails (RFC
// 8058). GET asks first, because programs that scan mails follow links.
const UnsubscribePath = "/unsubscribe"

// A token is base64url of the version, the topic's index in account.Topics, the user, and half an
// HMAC-SHA-256 of these. It never expires, and it need not be kept from its reader's mail programs:
// it can only stop mails.
const (
	tokenVersion = 1
	tokenHead    = 2 + 16
	tokenMark    = sha256.Size / 2
)

// token returns the token of a user and a topic, authenticated by an HMAC.
func (s *seal) token(user account.UserID, topic account.Topic) string {
	//nolint:gosec // a handful of topics
	head := append([]byte{tokenVersion, byte(slices.Index(account.Topics(), topic))}, user.UUID[:]...)
	return base64.RawURLEncoding.EncodeToString(append(head, s.mark(head)...))
}

func (s *seal) mark(head []byte) []byte {
	mac := hmac.New(sha256.New, s.links)
	mac.Write(head)
	return mac.Sum(nil)[:tokenMark]
}

// ReadUnsubscribe returns the user and the topic of a token that Prepare made. It reports false for
// any other text.
func (o *Outbox) ReadUnsubscribe(token string) (user account.UserID, topic account.Topic, ok bool) {
	if len(token) != base64.RawURLEncoding.EncodedLen(tokenHead+tokenMark) {
		return account.UserID{}, "", false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token) // the decoder ignores line ends
	if err != nil || len(raw) != tokenHead+tokenMark || raw[0] != tokenVersion ||
		int(raw[1]) >= len(account.Topics()) ||
		!hmac.Equal(raw[tokenHead:], o.seal.mark(raw[:tokenHead])) {
		return account.UserID{}, "", false
	}
	return account.UserID{UUID: uuid.UUID(raw[2:tokenHead])}, account.Topics()[raw[1]], true
}

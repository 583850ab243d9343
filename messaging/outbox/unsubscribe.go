package outbox

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"slices"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
)

// UnsubscribePath is where a mail is stopped, beside the token of its link. A POST there stops it
// (RFC 8058), a GET asks first: programs that look at mails follow links.
const UnsubscribePath = "/unsubscribe"

// A token of such a link is base64url of: version, the place of its topic in account.Topics, the
// user, and half an HMAC-SHA-256 of them. It never ends and is not secret to its reader's mail
// programs: it takes mails away and gives nothing.
const (
	tokenVersion = 1
	tokenHead    = 2 + 16
	tokenMark    = sha256.Size / 2
)

// token names a user and a topic, so that nobody else can.
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

// ReadUnsubscribe says who stops which mails by the token of a link that Prepare made; false for
// any other text.
func (o *Outbox) ReadUnsubscribe(token string) (user account.UserID, topic account.Topic, ok bool) {
	if len(token) != base64.RawURLEncoding.EncodedLen(tokenHead+tokenMark) {
		return account.UserID{}, "", false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token) // which leaves out line ends
	if err != nil || len(raw) != tokenHead+tokenMark || raw[0] != tokenVersion ||
		int(raw[1]) >= len(account.Topics()) ||
		!hmac.Equal(raw[tokenHead:], o.seal.mark(raw[:tokenHead])) {
		return account.UserID{}, "", false
	}
	return account.UserID{UUID: uuid.UUID(raw[2:tokenHead])}, account.Topics()[raw[1]], true
}

package site

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/identity/account"
)

// A person who asks support with an API key enters it once. From then on it is sent sealed in a
// cookie, only to the support pages, and appears in no URL and on no page.

const (
	keyCookieName = "support"
	// securePrefix makes browsers accept a cookie only over HTTPS. The stricter __Host- requires
	// the path /.
	securePrefix = "__Secure-"
	// keyLifetime is how long a key is kept. The seal contains the expiry, too, so that a copied
	// cookie does not outlive it.
	keyLifetime  = time.Hour
	leastSecret  = 32 // bytes
	expiryBytes  = 8
	keySealUse   = "keys that ask support"
	longestKeyed = 512 // bytes; longer cookies are ignored
)

// keySeal seals and opens the cookie: AES-256-GCM over its expiry (unix seconds) and the key. It is
// bound to the cookie from which the browser's CSRF tokens are derived, so a cookie that is planted
// in another browser does not open there. Otherwise the victim would file tickets with the
// attacker's key.
type keySeal struct{ aead cipher.AEAD }

// newKeySeal derives the encryption key from a secret, which is the same in every process.
func newKeySeal(secret []byte) (keySeal, error) {
	if len(secret) < leastSecret {
		return keySeal{}, errors.New("the secret that seals cookies is shorter than 32 bytes")
	}
	key, err := hkdf.Key(sha256.New, secret, nil, "chain access gateway: "+keySealUse, sha256.Size)
	if err != nil {
		return keySeal{}, fmt.Errorf("derive the key of cookies: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return keySeal{}, fmt.Errorf("seal cookies: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return keySeal{}, fmt.Errorf("seal cookies: %w", err)
	}
	return keySeal{aead}, nil
}

// boundTo returns the additional authenticated data: the purpose of the seal and the cookie that it
// is bound to.
func boundTo(bearing string) []byte { return []byte(keySealUse + ": " + bearing) }

func (s keySeal) close(key account.Key, bearing string, until time.Time) string {
	content := binary.BigEndian.AppendUint64(nil, uint64(until.Unix())) //nolint:gosec // later than 1970
	content = append(content, key.Reveal()...)
	//nolint:gosec // this AEAD generates its own nonces
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, content, boundTo(bearing)))
}

// open returns the key in a cookie. It returns false when the cookie was sealed with another secret
// or for another browser, was modified, or has expired.
func (s keySeal) open(value, bearing string, now time.Time) (account.Key, bool) {
	if value == "" || bearing == "" || len(value) > longestKeyed {
		return account.Key{}, false
	}
	sealed, err := base64.RawURLEncoding.DecodeString(value)
	// the decoder ignores line breaks, but a seal must have one spelling
	if err != nil || base64.RawURLEncoding.EncodeToString(sealed) != value {
		return account.Key{}, false
	}
	content, err := s.aead.Open(nil, nil, sealed, boundTo(bearing))
	//nolint:gosec // close wrote it
	if err != nil || len(content) < expiryBytes || now.Unix() >= int64(binary.BigEndian.Uint64(content)) {
		return account.Key{}, false
	}
	return account.ParseKey(content[expiryBytes:])
}

// keyCookie returns the cookie with a value; a negative age deletes it.
func (j jar) keyCookie(value string, age int) *http.Cookie {
	c := &http.Cookie{ //nolint:gosec // Secure over HTTPS; see jar
		Name: keyCookieName, Value: value, Path: paths.Support, MaxAge: age, Secure: j.secure, HttpOnly: true,
		SameSite: http.SameSiteStrictMode,
	}
	if j.secure {
		c.Name = securePrefix + keyCookieName
	}
	return c
}

// sealedKey returns the value of the request's cookie, or "" for none.
func (j jar) sealedKey(r *http.Request) string {
	c, err := r.Cookie(j.keyCookie("", 0).Name)
	if err != nil {
		return ""
	}
	return c.Value
}

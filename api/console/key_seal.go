package console

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

	"github.com/chainaccess/gateway/identity/account"
)

// Whoever asks support with a key puts it in once. From then on it travels sealed in a cookie, to
// the pages of support alone, and stands in no address and on no page.

const (
	keyCookieName = "support"
	// securePrefix makes browsers take a cookie only over https. The stricter __Host- is for
	// cookies of every path.
	securePrefix = "__Secure-"
	// keyLifetime is how long a key that was put in is kept; the seal holds the end as well, so
	// that a kept cookie does not outlive it.
	keyLifetime  = time.Hour
	leastSecret  = 32 // bytes
	expiryBytes  = 8
	keySealUse   = "keys that ask support"
	longestKeyed = 512 // bytes of a cookie that is looked at
)

// keySeal closes and opens the cookie: AES-256-GCM over the end of its life (unix seconds) and the
// key, bound to the cookie that the browser's forms hang on. A cookie that was made for one browser
// and planted in another opens nothing there, so that nobody files tickets with the key of whoever
// planted it.
type keySeal struct{ aead cipher.AEAD }

// newKeySeal derives the key from a secret of the environment, the same in every process.
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

// boundTo is what is sealed along: what the seal is for, and whose.
func boundTo(bearing string) []byte { return []byte(keySealUse + ": " + bearing) }

func (s keySeal) close(key account.Key, bearing string, until time.Time) string {
	content := binary.BigEndian.AppendUint64(nil, uint64(until.Unix())) //nolint:gosec // later than 1970
	content = append(content, key.Reveal()...)
	//nolint:gosec // this AEAD makes its nonces itself
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, content, boundTo(bearing)))
}

// open returns the key of a cookie; false for one that was sealed under another secret or for
// another browser, was changed, or is over.
func (s keySeal) open(value, bearing string, now time.Time) (account.Key, bool) {
	if value == "" || bearing == "" || len(value) > longestKeyed {
		return account.Key{}, false
	}
	sealed, err := base64.RawURLEncoding.DecodeString(value)
	// one seal has one spelling; the decoder skips line breaks
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

// keyCookie is the cookie with a value; a negative age drops it.
func (j jar) keyCookie(value string, age int) *http.Cookie {
	c := &http.Cookie{ //nolint:gosec // Secure wherever https is; see jar
		Name: keyCookieName, Value: value, Path: pathSupport, MaxAge: age, Secure: j.secure, HttpOnly: true,
		SameSite: http.SameSiteStrictMode,
	}
	if j.secure {
		c.Name = securePrefix + keyCookieName
	}
	return c
}

// sealedKey is the value of the cookie that came; empty for none.
func (j jar) sealedKey(r *http.Request) string {
	c, err := r.Cookie(j.keyCookie("", 0).Name)
	if err != nil {
		return ""
	}
	return c.Value
}

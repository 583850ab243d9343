package people

import (
	"crypto/aes"
	"crypto/cipher"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/chainaccess/gateway/store"
)

const maxReturnTo = 1024

// returnTo returns the local path to come back to after a sign-in, or "" for what is none: another
// host's address, however disguised (two slashes, a backslash, control characters, which browsers
// drop), leads nowhere.
func returnTo(path string) string {
	bare, _, _ := strings.Cut(path, "?")
	odd := func(r rune) bool {
		return r <= ' ' || r == '\\' || r == '#' || r >= utf8.RuneSelf || r == unicode.MaxASCII
	}
	switch {
	case len(path) > maxReturnTo, !strings.HasPrefix(path, "/"), strings.ContainsFunc(path, odd):
		return ""
	case strings.Contains(bare, "//"), strings.Contains(bare, "/."), strings.Contains(bare, "%"):
		return ""
	}
	return path
}

// seal closes the path of a sign-in for the record, because one may carry a claim code or the token
// of an invitation: AES-256-GCM under a key of this sign-in alone, which follows from the pepper.
// No path stays none.
func (p *People) seal(of store.SignInID, path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	aead, err := p.sealer(of)
	if err != nil {
		return nil, err
	}
	return aead.Seal(nil, nil, []byte(path), nil), nil //nolint:gosec // this AEAD makes its nonces itself
}

// open returns the path of a sign-in. One that was sealed under another pepper, or changed since,
// leads nowhere.
func (p *People) open(of store.SignInID, sealed []byte) string {
	aead, err := p.sealer(of)
	if err != nil || len(sealed) == 0 {
		return ""
	}
	path, err := aead.Open(nil, nil, sealed, nil)
	if err != nil {
		return ""
	}
	return returnTo(string(path))
}

func (p *People) sealer(of store.SignInID) (cipher.AEAD, error) {
	key := p.o.Hasher.DigestOf("path to come back to", of.String())
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, fmt.Errorf("seal a path: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("seal a path: %w", err)
	}
	return aead, nil
}

package people

import (
	"crypto/aes"
	"crypto/cipher"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/chainaccess/gateway/store/peopledb"
)

const maxReturnTo = 1024

// returnTo returns the local path to return to after a sign-in, or "" when path is not one: another
// host's address, however disguised (two slashes, a backslash, control characters, which browsers
// drop).
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

// seal encrypts the path of a sign-in for PostgreSQL, because a path may contain a claim code or
// the token of an invitation: AES-256-GCM with a key derived from the pepper for this sign-in
// alone. It returns nil for an empty path.
func (p *People) seal(of peopledb.SignInID, path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	aead, err := p.sealer(of)
	if err != nil {
		return nil, err
	}
	return aead.Seal(nil, nil, []byte(path), nil), nil //nolint:gosec // this AEAD makes its nonces itself
}

// open decrypts the path of a sign-in. It returns "" for one that was sealed with another pepper or
// changed.
func (p *People) open(of peopledb.SignInID, sealed []byte) string {
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

func (p *People) sealer(of peopledb.SignInID) (cipher.AEAD, error) {
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

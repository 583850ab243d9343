package account

import (
	"crypto/rand"
	"fmt"
	"io"
	"math/big"
)

// Sign-in tokens have the format of keys, each kind with a prefix of its own. So a text that was
// tampered with, or truncated by a mail program, is refused without any look-up; scanners for
// leaked secrets recognise it; and two kinds never share a digest.
const (
	sessionPrefix    = "cags_"
	linkPrefix       = "cagl_"
	browserPrefix    = "cagb_"
	invitationPrefix = "cagi_"
)

// SessionToken is in the cookie of a session, redacted like Key.
type SessionToken struct{ secret }

// LinkToken is in the link of a sign-in mail, redacted like Key.
type LinkToken struct{ secret }

// BrowserToken is in a cookie of the browser that asked for a sign-in, redacted like Key. The code
// of the mail works only in that browser.
type BrowserToken struct{ secret }

// InvitationToken is in the link of an invitation, redacted like Key.
type InvitationToken struct{ secret }

// MintSessionToken makes a session token from 32 bytes of a cryptographic random source.
func MintSessionToken(rand io.Reader) (SessionToken, error) {
	s, err := mint(rand, sessionPrefix)
	return SessionToken{s}, err
}

// MintLinkToken makes the token of a sign-in link from 32 bytes of a cryptographic random source.
func MintLinkToken(rand io.Reader) (LinkToken, error) {
	s, err := mint(rand, linkPrefix)
	return LinkToken{s}, err
}

// MintBrowserToken makes the token of a browser that signs in from 32 bytes of a cryptographic
// random source.
func MintBrowserToken(rand io.Reader) (BrowserToken, error) {
	s, err := mint(rand, browserPrefix)
	return BrowserToken{s}, err
}

// MintInvitationToken makes the token of an invitation from 32 bytes of a cryptographic random
// source.
func MintInvitationToken(rand io.Reader) (InvitationToken, error) {
	s, err := mint(rand, invitationPrefix)
	return InvitationToken{s}, err
}

// ParseSessionToken is ParseKey for session tokens.
func ParseSessionToken(text string) (SessionToken, bool) {
	s, ok := parse(text, sessionPrefix)
	return SessionToken{s}, ok
}

// ParseLinkToken is ParseKey for tokens of sign-in links.
func ParseLinkToken(text string) (LinkToken, bool) {
	s, ok := parse(text, linkPrefix)
	return LinkToken{s}, ok
}

// ParseBrowserToken is ParseKey for tokens of browsers that sign in.
func ParseBrowserToken(text string) (BrowserToken, bool) {
	s, ok := parse(text, browserPrefix)
	return BrowserToken{s}, ok
}

// ParseInvitationToken is ParseKey for tokens of invitations.
func ParseInvitationToken(text string) (InvitationToken, bool) {
	s, ok := parse(text, invitationPrefix)
	return InvitationToken{s}, ok
}

const codeDigits = 6

// Code is the six digits of a sign-in mail, redacted like Key. It works only in the browser that
// asked for it.
type Code struct{ secret }

// MintCode makes a code from a cryptographic random source; all codes are equally likely.
func MintCode(random io.Reader) (Code, error) {
	n, err := rand.Int(random, big.NewInt(1_000_000))
	if err != nil {
		return Code{}, fmt.Errorf("mint a code: %w", err)
	}
	return codeOf(fmt.Appendf(nil, "%0*d", codeDigits, n.Int64())), nil
}

// ParseCode parses six digits as people type them, ignoring blanks and hyphens between and around
// them.
func ParseCode(text string) (Code, bool) {
	const longest = 32
	if len(text) > longest {
		return Code{}, false
	}
	digits := make([]byte, 0, codeDigits)
	for _, c := range []byte(text) {
		switch {
		case c >= '0' && c <= '9':
			digits = append(digits, c)
		case c != ' ' && c != '-':
			return Code{}, false
		}
	}
	if len(digits) != codeDigits {
		return Code{}, false
	}
	return codeOf(digits), true
}

func codeOf(digits []byte) Code {
	var s secret
	s.length = copy(s.text[:], digits)
	return Code{s}
}

// DigestFor returns the digest of the code for one browser; it differs for every browser. Without
// the pepper, the digest of so few digits could be found by brute force.
func (c Code) DigestFor(browser BrowserToken, h *Hasher) Digest {
	return Digest(h.derive("sign-in code\x00"+c.Reveal()+"\x00", browser.secret))
}

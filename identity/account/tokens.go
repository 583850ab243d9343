package account

import (
	"crypto/rand"
	"fmt"
	"io"
	"math/big"
)

// What people sign in with has the form of keys, each with a prefix of its own: a text that was
// tampered with, or cut off by a mail program, is refused without any look-up, scanners for leaked
// secrets know it, and two kinds never share a digest.
const (
	sessionPrefix    = "cags_"
	linkPrefix       = "cagl_"
	browserPrefix    = "cagb_"
	invitationPrefix = "cagi_"
)

// SessionToken is what the cookie of a session holds, guarded like Key.
type SessionToken struct{ secret }

// LinkToken is in the link of a sign-in mail, guarded like Key.
type LinkToken struct{ secret }

// BrowserToken is in a cookie of the browser that asked for a sign-in, guarded like Key: only there
// the code of the mail works.
type BrowserToken struct{ secret }

// InvitationToken is in the link of an invitation, guarded like Key.
type InvitationToken struct{ secret }

// MintSessionToken makes a session token out of 32 bytes of a cryptographic source.
func MintSessionToken(rand io.Reader) (SessionToken, error) {
	s, err := mint(rand, sessionPrefix)
	return SessionToken{s}, err
}

// MintLinkToken makes the token of a sign-in link out of 32 bytes of a cryptographic source.
func MintLinkToken(rand io.Reader) (LinkToken, error) {
	s, err := mint(rand, linkPrefix)
	return LinkToken{s}, err
}

// MintBrowserToken makes the token of a browser that signs in out of 32 bytes of a cryptographic
// source.
func MintBrowserToken(rand io.Reader) (BrowserToken, error) {
	s, err := mint(rand, browserPrefix)
	return BrowserToken{s}, err
}

// MintInvitationToken makes the token of an invitation out of 32 bytes of a cryptographic source.
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

// Code is the six digits of a sign-in mail, guarded like Key. It is worth nothing without the
// browser that asked for it.
type Code struct{ secret }

// MintCode makes a code from a cryptographic source; all codes are equally likely.
func MintCode(random io.Reader) (Code, error) {
	n, err := rand.Int(random, big.NewInt(1_000_000))
	if err != nil {
		return Code{}, fmt.Errorf("mint a code: %w", err)
	}
	return codeOf(fmt.Appendf(nil, "%0*d", codeDigits, n.Int64())), nil
}

// ParseCode reads six digits as people type them: blanks and hyphens between and around them do not
// matter.
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

// DigestFor digests the code for one browser: the same code has another digest in another one.
// Without the pepper the digest of so few digits would be found by trying.
func (c Code) DigestFor(browser BrowserToken, h *Hasher) Digest {
	return Digest(h.derive("sign-in code\x00"+c.Reveal()+"\x00", browser.secret))
}

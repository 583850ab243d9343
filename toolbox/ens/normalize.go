package ens

import (
	"strings"
)

// MaxName is the maximum length of a name in bytes, so that every label's length fits the length
// byte of the DNS encoding.
const MaxName = 254

// NameError reports why a name is not resolved.
type NameError struct {
	// BeyondASCII reports whether the name has characters beyond ASCII, which are not supported
	// here.
	BeyondASCII bool
	// Problem continues a sentence that begins with the name, and includes what to do.
	Problem string
}

func (e *NameError) Error() string { return "the name " + e.Problem }

const beyondASCII = "holds a character beyond ASCII: an emoji, a letter with an accent or of another script, an " +
	"invisible or a look-alike character. Only the ASCII subset of ENSIP-15 is served here: a-z, 0-9, hyphens, $ and " +
	"leading underscores, in labels joined by dots. Type the name anew if it was meant to be plain; else normalise " +
	"it with a library of ENSIP-15 and call the Universal Resolver by eth_call"

// Normalize returns the normal form (ENSIP-15) of an ASCII name. It lowers the case and requires
// non-empty labels of letters, digits, hyphen, $ and underscore. Underscores are allowed only at a
// label's start, and hyphens not at both the third and the fourth position, where extensions such
// as Punycode begin. An apostrophe, which ENSIP-15 maps to another character, is refused. The error
// is a *NameError.
func Normalize(name string) (string, error) {
	for i := range len(name) {
		if name[i] >= 0x80 {
			return "", &NameError{true, beyondASCII}
		}
	}
	switch {
	case name == "":
		return "", &NameError{Problem: "is empty. Give a name such as vitalik.eth"}
	case len(name) > MaxName:
		return "", &NameError{Problem: "is too long. At most 254 characters are resolved"}
	}
	name = lower(name)
	for label := range strings.SplitSeq(name, ".") {
		if problem := problemOf(label); problem != "" {
			return "", &NameError{Problem: problem}
		}
	}
	return name, nil
}

// lower is strings.ToLower for ASCII alone.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// problemOf returns what is wrong with a lower-case label; empty if it is valid.
func problemOf(label string) string {
	if label == "" {
		return "has an empty label. Labels are joined by single dots, without one at the begin or the end"
	}
	rest := strings.TrimLeft(label, "_")
	for i := range len(rest) {
		switch c := rest[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '$':
		case c == '_':
			return "has an underscore within a label. Underscores stand at the begin of a label only (ENSIP-15)"
		default:
			return "holds a character that no name has. Names have letters, digits, hyphens, $ and leading " +
				"underscores, in labels joined by dots (ENSIP-15)"
		}
	}
	if len(label) >= 4 && label[2:4] == "--" {
		return "has a label with hyphens at its third and fourth place, as in xn--. Such labels are no normalised " +
			"names (ENSIP-15)"
	}
	return ""
}

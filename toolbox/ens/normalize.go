package ens

import (
	"strings"
)

// MaxName is the length of the longest name that is resolved, in bytes: so every label's length
// fits the byte that DNS' form has for it.
const MaxName = 254

// NameError says why a name is not resolved.
type NameError struct {
	// BeyondASCII says that the name may be one, but not of the characters that are served here.
	BeyondASCII bool
	// Problem continues a sentence that begins with the name, and says what to do.
	Problem string
}

func (e *NameError) Error() string { return "the name " + e.Problem }

const beyondASCII = "holds a character beyond ASCII: an emoji, a letter with an accent or of another script, an " +
	"invisible or a look-alike character. Only the ASCII subset of ENSIP-15 is served here: a-z, 0-9, hyphens, $ and " +
	"leading underscores, in labels joined by dots. Type the name anew if it was meant to be plain; else normalise " +
	"it with a library of ENSIP-15 and call the Universal Resolver by eth_call"

// Normalize returns the normal form of a name (ENSIP-15) when it consists of ASCII characters,
// which is: in lower case, labels not empty, no other characters than letters, digits, hyphen, $
// and underscore, underscores at a label's begin only, and no hyphens at both the third and the
// fourth place, where extensions such as Punycode's begin. An apostrophe, which ENSIP-15 turns into
// another character, is refused. An error is a *NameError.
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

// problemOf says what is wrong with a label in lower case; nothing when nothing is.
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

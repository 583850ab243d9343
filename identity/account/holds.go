package account

import "strings"

// prefixes of everything that opens something.
var secretPrefixes = [...]string{
	keyPrefix, credentialPrefix, claimPrefix, sessionPrefix, linkPrefix, browserPrefix, invitationPrefix,
}

// HoldsSecret reports whether a text holds a key, a credential, a claim code or a token of ours:
// something of their form whose checksum is right.
func HoldsSecret(text string) bool {
	for at := strings.Index(text, "cag"); at >= 0; {
		for _, prefix := range secretPrefixes {
			end := at + len(prefix) + secretChars
			if end > len(text) {
				continue
			}
			if _, ok := parse(text[at:end], prefix); ok {
				return true
			}
		}
		next := strings.Index(text[at+1:], "cag")
		if next < 0 {
			return false
		}
		at += 1 + next
	}
	return false
}

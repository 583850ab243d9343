package account

import "strings"

// secretPrefixes are the prefixes of all secrets.
var secretPrefixes = [...]string{
	keyPrefix, credentialPrefix, claimPrefix, sessionPrefix, linkPrefix, browserPrefix, invitationPrefix,
}

// HoldsSecret reports whether a text contains a key, a credential, a claim code or a token:
// anything of their format with a valid checksum.
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

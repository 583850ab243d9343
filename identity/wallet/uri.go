package wallet

import (
	"net/netip"
	"strings"
)

// set is a set of ASCII characters.
type set [128]bool

func characters(of string) (s set) {
	for i := range len(of) {
		s[of[i]] = true
	}
	return s
}

// The character classes of RFC 3986, appendix A, and of EIP-4361.
const (
	letters      = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits       = "0123456789"
	alphanumeric = letters + digits
	unreserved   = alphanumeric + "-._~"
	subDelims    = "!$&'()*+,;="
	genDelims    = ":/?#[]@"
)

var (
	alphanumericSet = characters(alphanumeric)
	digitSet        = characters(digits)
	hexSet          = characters(digits + "abcdefABCDEF")
	schemeSet       = characters(alphanumeric + "+-.")
	userinfoSet     = characters(unreserved + subDelims + ":")
	regNameSet      = characters(unreserved + subDelims)
	pcharSet        = characters(unreserved + subDelims + ":@")
	pathSet         = characters(unreserved + subDelims + ":@/")
	querySet        = characters(unreserved + subDelims + ":@/?")
	statementSet    = characters(unreserved + subDelims + genDelims + " ")
)

// all reports whether s has only characters of the set.
func all(s string, allowed set) bool {
	for i := range len(s) {
		if s[i] >= 128 || !allowed[s[i]] {
			return false
		}
	}
	return true
}

// encoded is like all, and also allows percent signs that are followed by two hexadecimal digits.
func encoded(s string, allowed set) bool {
	for {
		before, after, found := strings.Cut(s, "%")
		if !all(before, allowed) {
			return false
		}
		if !found {
			return true
		}
		if len(after) < 2 || !all(after[:2], hexSet) {
			return false
		}
		s = after[2:]
	}
}

// isURI reports whether s is a URI of RFC 3986: with a scheme, absolute, ASCII only.
func isURI(s string) bool {
	scheme, rest, found := strings.Cut(s, ":")
	if !found || !isScheme(scheme) {
		return false
	}
	rest, fragment, _ := strings.Cut(rest, "#")
	rest, query, _ := strings.Cut(rest, "?")
	if !encoded(fragment, querySet) || !encoded(query, querySet) {
		return false
	}
	if after, hasAuthority := strings.CutPrefix(rest, "//"); hasAuthority {
		authority, path := after, ""
		if i := strings.IndexByte(after, '/'); i >= 0 {
			authority, path = after[:i], after[i:]
		}
		return isAuthority(authority) && encoded(path, pathSet)
	}
	return encoded(rest, pathSet)
}

func isScheme(s string) bool {
	return s != "" && strings.IndexByte(letters, s[0]) >= 0 && all(s, schemeSet)
}

// isDomain reports whether s is a non-empty authority, as EIP-4361 requires. It may name a host, or
// only a user or a port.
func isDomain(s string) bool { return s != "" && isAuthority(s) }

// isAuthority reports whether s is [ userinfo "@" ] host [ ":" port ], which may be empty.
func isAuthority(s string) bool {
	if i := strings.IndexByte(s, '@'); i >= 0 {
		if !encoded(s[:i], userinfoSet) {
			return false
		}
		s = s[i+1:]
	}
	if strings.HasPrefix(s, "[") {
		literal, port, closed := strings.Cut(s[1:], "]")
		return closed && isIPLiteral(literal) && (port == "" || (port[0] == ':' && all(port[1:], digitSet)))
	}
	host, port, _ := strings.Cut(s, ":")
	return encoded(host, regNameSet) && all(port, digitSet)
}

// isIPLiteral reports whether s is valid between the brackets: an IPv6 address without a zone, or
// IPvFuture.
func isIPLiteral(s string) bool {
	if strings.HasPrefix(s, "v") || strings.HasPrefix(s, "V") {
		version, address, found := strings.Cut(s[1:], ".")
		return found && version != "" && all(version, hexSet) && address != "" && all(address, userinfoSet)
	}
	ip, err := netip.ParseAddr(s)
	return err == nil && ip.Is6() && ip.Zone() == ""
}

func isRequestID(s string) bool { return encoded(s, pcharSet) }

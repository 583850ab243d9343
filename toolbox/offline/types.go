package offline

import (
	"fmt"
	"strings"
)

// canonicalType returns the canonical name of an ABI type that is neither tuple nor array; false
// for other words (https://docs.soliditylang.org/en/latest/abi-spec.html#types).
func canonicalType(word string) (string, bool) {
	switch word {
	case "address", "bool", "string", "bytes", "function":
		return word, true
	case "uint", "int":
		return word + "256", true
	case "fixed", "ufixed":
		return word + "128x18", true
	case "byte": // Solidity before 0.8
		return "bytes1", true
	}
	switch family, size := split(word); family {
	case "uint", "int":
		return word, isWidth(size)
	case "bytes":
		return word, between(size, 1, 32)
	case "fixed", "ufixed":
		bits, places, _ := strings.Cut(size, "x")
		return word, isWidth(bits) && between(places, 0, 80)
	}
	return "", false
}

// split separates the letters of a type from its size.
func split(word string) (family, size string) {
	at := strings.IndexAny(word, "0123456789")
	if at < 0 {
		return word, ""
	}
	return word[:at], word[at:]
}

// noType explains why a word is no type.
func noType(word string) string {
	why := "not one of the contract ABI. A contract is an address there, an enum uint8, a struct the tuple of its " +
		"members in brackets, and a type of one's own what it is made of"
	switch family, _ := split(word); family {
	case "uint", "int":
		why = "integers have 8 to 256 bits, in steps of 8"
	case "bytes":
		why = "fixed bytes have 1 to 32 of them"
	case "fixed", "ufixed":
		why = "fixed-point numbers have 8 to 256 bits in steps of 8, an x, and 0 to 80 places"
	}
	return fmt.Sprintf("%s is no type: %s.", shown(word), why)
}

// isWidth reports whether s is 8 to 256 in steps of 8.
func isWidth(s string) bool { return between(s, 8, 256) && number(s)%8 == 0 }

// between reports whether s is a whole number from least to limit, without leading zeros.
func between(s string, least, limit int) bool {
	if s == "" || len(s) > 3 || !allOf(s, isDigit) || (len(s) > 1 && s[0] == '0') {
		return false
	}
	n := number(s)
	return least <= n && n <= limit
}

// number parses digits.
func number(s string) (n int) {
	for i := range len(s) {
		n = 10*n + int(s[i]-'0')
	}
	return n
}

package toolbox

import (
	"strings"

	"github.com/mr-tron/base58"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/chain"
)

// ParseAddress parses an account's address on a chain and returns its canonical form: with the
// EIP-55 checksum, or base58. An EVM address may be all lower or all upper case. A mixture must be
// that of EIP-55, because any other contains a typing error. Anything else is fault.FieldRefused
// with what the chain takes.
func ParseAddress(id chain.ID, text string) (string, *fault.Error) {
	if id == chain.SolanaMainnet {
		return parseSolanaAddress(text)
	}
	a, err := wallet.ParseAddress(text)
	if err != nil {
		if isSolanaKey(text) {
			return "", badAddress("this is an address of Solana; %s takes 0x and 40 hexadecimal digits", id)
		}
		return "", badAddress("%s takes 0x and 40 hexadecimal digits", id)
	}
	if digits := text[2:]; digits != strings.ToLower(digits) && digits != strings.ToUpper(digits) &&
		a.Checksummed() != text {
		return "", badAddress(
			"its capitals are not those of EIP-55, so it may hold a typing error; check it, then send it in small " +
				"letters")
	}
	return a.Checksummed(), nil
}

func parseSolanaAddress(text string) (string, *fault.Error) {
	switch {
	case isSolanaKey(text):
		return text, nil
	case strings.HasPrefix(text, "0x"):
		return "", badAddress("this is an address of an EVM chain; %s takes 32 bytes in base58", chain.SolanaMainnet)
	}
	return "", badAddress("%s takes 32 bytes in base58, 32 to 44 characters, in exactly their case",
		chain.SolanaMainnet)
}

// solanaKeySize is the size of a public key in bytes, which base58 encodes in at most 44
// characters.
const (
	solanaKeySize   = 32
	solanaKeyLength = 44
)

func isSolanaKey(text string) bool {
	if len(text) > solanaKeyLength {
		return false
	}
	raw, err := base58.Decode(text)
	return err == nil && len(raw) == solanaKeySize
}

func badAddress(format string, args ...any) *fault.Error {
	return fault.New(fault.FieldRefused, "Correct and send again. address: "+format+".", args...)
}

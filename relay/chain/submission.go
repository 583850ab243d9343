package chain

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/ethereum/go-ethereum/rlp"
	"github.com/mr-tron/base58"
	"golang.org/x/crypto/sha3"
)

// SubmissionID identifies the transaction in a write, so that its sender can look it up when the
// outcome is unknown (-32017). It returns ("transaction_hash", "0x…") on EVM chains, ("signature",
// base58) on Solana, and empty strings when the parameters hold no decodable transaction.
func (c *Chain) SubmissionID(params []byte) (field, value string) {
	raw, ok := param(params, 0)
	if !ok {
		return "", ""
	}
	encoded, ok := text(raw)
	if !ok {
		return "", ""
	}
	if c.Family == Solana {
		if value = solanaSignature(encoded, solanaEncoding(params)); value != "" {
			return "signature", value
		}
		return "", ""
	}
	if value = evmHash(encoded); value != "" {
		return "transaction_hash", value
	}
	return "", ""
}

// blobTxType is the EIP-2718 type of EIP-4844 transactions.
const blobTxType = 0x03

// evmHash returns the Keccak-256 of the signed bytes. A blob transaction is sent with its blobs,
// which its hash does not cover (EIP-4844, network representation). Its hash is of the type byte
// and the wrapped transaction alone.
func evmHash(encoded []byte) string {
	if len(encoded) < 4 || encoded[0] != '0' || (encoded[1] != 'x' && encoded[1] != 'X') {
		return ""
	}
	signed := make([]byte, hex.DecodedLen(len(encoded)-2))
	if _, err := hex.Decode(signed, encoded[2:]); err != nil {
		return ""
	}
	if signed[0] == blobTxType {
		if content, _, err := rlp.SplitList(signed[1:]); err == nil {
			if kind, _, rest, err := rlp.Split(content); err == nil && kind == rlp.List {
				signed = append([]byte{blobTxType}, content[:len(content)-len(rest)]...)
			}
		}
	}
	h := sha3.NewLegacyKeccak256()
	_, _ = h.Write(signed) // a hash never fails to write
	return "0x" + hex.EncodeToString(h.Sum(nil))
}

// SyncParams splits the parameters of eth_sendRawTransactionSync (EIP-7966): send are those of
// eth_sendRawTransaction, wait is how long the caller waits for the receipt. wait is 0 if it is
// missing or invalid; then EIP-7966 asks for the node's default. It is a quantity or a JSON number,
// in milliseconds.
func SyncParams(params []byte) (send []byte, wait time.Duration) {
	raw, ok := param(params, 0)
	if !ok {
		return []byte("[]"), 0
	}
	send = append(append(append(send, '['), raw...), ']')
	millis, ok := param(params, 1)
	if !ok {
		return send, 0
	}
	base := 10
	if quoted, isText := text(millis); isText {
		if millis, ok = bytes.CutPrefix(quoted, []byte("0x")); !ok {
			return send, 0
		}
		base = 16
	}
	n, err := strconv.ParseUint(string(millis), base, 32)
	if err != nil {
		return send, 0
	}
	return send, time.Duration(n) * time.Millisecond
}

const (
	signatureBytes = 64
	// maxSolanaText bounds the decoding: the largest transaction (1232 bytes) is 1683 characters of
	// base58, and decoding base58 is quadratic in the length.
	maxSolanaText = 2048
)

// solanaEncoding returns {"encoding": …} of the second parameter; base58 is the default of
// sendTransaction.
func solanaEncoding(params []byte) string {
	encoding := "base58"
	raw, ok := param(params, 1)
	if !ok {
		return encoding
	}
	walk, ok := membersOf(raw)
	for ok {
		var name, value []byte
		if name, value, ok = walk.next(); !ok {
			break
		}
		if key, isString := text(name); !isString || string(key) != "encoding" {
			continue
		}
		if content, isString := text(value); isString {
			encoding = string(content)
		}
	}
	return encoding
}

// solanaSignature returns the first signature of a wire transaction, which begins with the number
// of its signatures.
func solanaSignature(encoded []byte, encoding string) string {
	if len(encoded) > maxSolanaText {
		return ""
	}
	var (
		wire []byte
		err  error
	)
	switch encoding {
	case "base58":
		wire, err = base58.Decode(string(encoded))
	case "base64":
		wire, err = base64.StdEncoding.DecodeString(string(encoded))
	default:
		return ""
	}
	if err != nil || len(wire) < 1+signatureBytes {
		return ""
	}
	// A transaction of 1232 bytes has room for 19 signatures, so its compact count is always one
	// byte.
	if count := int(wire[0]); count == 0 || len(wire) <= 1+count*signatureBytes {
		return ""
	}
	return base58.Encode(wire[1 : 1+signatureBytes])
}

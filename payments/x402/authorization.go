package x402

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/metering/plan"
)

// Token is the part of the asset's EIP-712 domain that wallets sign in addition to its chain and
// address.
type Token struct{ Name, Version string }

// Nonce is chosen by the payer and works once per asset and payer (EIP-3009). Its text form is 0x
// and 64 lower-case hexadecimal digits.
type Nonce [32]byte

// String returns 0x and 64 hexadecimal digits.
func (n Nonce) String() string { return TxHash(n).String() }

// Authorization is what a payer signs for EIP-3009's transferWithAuthorization. Anyone who holds it
// may move the value once, between ValidAfter and ValidBefore.
type Authorization struct {
	From, To    wallet.Address
	Value       plan.Atomic
	ValidAfter  int64 // seconds since 1970; the transfer's block must be later
	ValidBefore int64 // seconds since 1970; the transfer's block must be earlier
	Nonce       Nonce
	// Signature is the payer's over Digest, by a key or a contract wallet, deployed or not
	// (EIP-1271, EIP-6492).
	Signature []byte
}

var authorizationType = crypto.Keccak256(
	[]byte("TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 " +
		"validBefore,bytes32 nonce)"))

var domainType = crypto.Keccak256(
	[]byte("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"))

// Digest returns the hash that the payer signs: EIP-712 over EIP-3009's type, for the asset of the
// terms.
func (a *Authorization) Digest(t Terms, token Token) [32]byte {
	domain := crypto.Keccak256(domainType, crypto.Keccak256([]byte(token.Name)),
		crypto.Keccak256([]byte(token.Version)), word(t.Chain), padded(t.Asset))
	//nolint:gosec // parsed as not negative
	message := crypto.Keccak256(authorizationType, padded(a.From), padded(a.To), word(uint64(a.Value)),
		word(uint64(a.ValidAfter)), word(uint64(a.ValidBefore)), a.Nonce[:]) //nolint:gosec // parsed as not negative
	return crypto.Keccak256Hash([]byte{0x19, 0x01}, domain, message)
}

func word(n uint64) []byte { return binary.BigEndian.AppendUint64(make([]byte, 24, 32), n) }

func padded(a wallet.Address) []byte { return append(make([]byte, 12, 32), a[:]...) }

// MaxTimeout is the lifetime that payers are asked to give an authorization, and hence how long its
// outcome may be open.
const MaxTimeout = 120 * time.Second

// Bounds of an authorization's validity.
const (
	// longest is the maximum time until an authorization ends: it is watched for as long.
	longest = time.Hour
	// leastLeft is the minimum validity left when an authorization is presented, so that it can
	// still be settled.
	leastLeft = 10 * time.Second
	// skew is the tolerance for a payer's clock that runs ahead.
	skew = 5 * time.Second
)

// Check compares an authorization with what the seller asks. It returns what is wrong and what to
// sign instead, or "" if nothing is wrong.
func (a *Authorization) Check(t Terms, least plan.Atomic, now time.Time) (wrong string) {
	until := time.Unix(a.ValidBefore, 0).Sub(now)
	switch {
	case a.To != t.PayTo:
		return "The authorization pays " + a.To.String() + ". Sign one to payTo, " + t.PayTo.String() + "."
	case a.From.IsZero() || a.From == t.PayTo:
		return "The authorization's from is no payer. Sign one of the wallet that pays."
	case a.Value < least:
		return fmt.Sprintf(
			"The authorization is for %d atomic units, and %d are required. Sign one for the amount asked.", a.Value,
			least)
	case time.Unix(a.ValidAfter, 0).After(now.Add(skew)):
		return "The authorization is not valid yet. Sign one whose validAfter has passed."
	case until < leastLeft:
		return fmt.Sprintf("The authorization ends too soon to be settled. Sign one that is valid for %d seconds.",
			MaxTimeout/time.Second)
	case until > longest:
		return fmt.Sprintf("The authorization ends more than an hour from now. Sign one that is valid for %d seconds.",
			MaxTimeout/time.Second)
	}
	return ""
}

// wireAuthorization is an authorization as both versions of the protocol encode it. Numbers are
// strings of decimal digits.
type wireAuthorization struct {
	From        wallet.Address `json:"from"`
	To          wallet.Address `json:"to"`
	Value       string         `json:"value"`
	ValidAfter  string         `json:"validAfter"`
	ValidBefore string         `json:"validBefore"`
	Nonce       string         `json:"nonce"`
}

// wireExact is the payload of the scheme "exact" on EVM chains.
type wireExact struct {
	Signature     string            `json:"signature"`
	Authorization wireAuthorization `json:"authorization"`
}

func (a *Authorization) wire() wireExact {
	return wireExact{Signature: "0x" + hex.EncodeToString(a.Signature), Authorization: wireAuthorization{
		From: a.From, To: a.To, Value: strconv.FormatInt(int64(a.Value), 10), Nonce: a.Nonce.String(),
		ValidAfter: strconv.FormatInt(a.ValidAfter, 10), ValidBefore: strconv.FormatInt(a.ValidBefore, 10),
	}}
}

// read returns the authorization, or what is wrong with its form.
func (w *wireExact) read() (a Authorization, wrong string) {
	signature, err := wallet.DecodeSignature(w.Signature)
	if err != nil || len(signature) == 0 {
		return a, "payload.signature takes 0x and hexadecimal digits."
	}
	nonce, ok := ParseTxHash(w.Authorization.Nonce)
	if !ok {
		return a, "payload.authorization.nonce takes 0x and 64 hexadecimal digits."
	}
	a = Authorization{From: w.Authorization.From, To: w.Authorization.To, Nonce: Nonce(nonce), Signature: signature}
	var value int64
	for _, field := range []struct {
		name, text string
		to         *int64
	}{
		{"value", w.Authorization.Value, &value},
		{"validAfter", w.Authorization.ValidAfter, &a.ValidAfter},
		{"validBefore", w.Authorization.ValidBefore, &a.ValidBefore},
	} {
		if *field.to, ok = decimal(field.text); !ok {
			return a, "payload.authorization." + field.name +
				" takes a whole number in decimal digits, in a string, below 2^53."
		}
	}
	a.Value = plan.Atomic(value)
	return a, ""
}

// maxNumber is 2^53. Every client can represent smaller integers exactly, and every accepted amount
// and time is far below it.
const maxNumber = 1 << 53

// decimal parses a number below 2^53 without a sign and without leading zeros.
func decimal(text string) (int64, bool) {
	if text == "" || len(text) > 16 || strings.Trim(text, "0123456789") != "" || (text[0] == '0' && len(text) > 1) {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n < maxNumber
}

// AuthorizationState returns the calldata of authorizationState(address,bytes32), which reports
// whether an authorization was used or cancelled (EIP-3009).
func AuthorizationState(payer wallet.Address, nonce Nonce) []byte {
	return append(append(crypto.Keccak256([]byte("authorizationState(address,bytes32)"))[:4:4], padded(payer)...),
		nonce[:]...)
}

// UsedTopics returns the topics of AuthorizationUsed(address,bytes32), the event that the asset
// emits when an authorization is used (EIP-3009).
func UsedTopics(payer wallet.Address, nonce Nonce) [3][32]byte {
	return [3][32]byte{
		crypto.Keccak256Hash([]byte("AuthorizationUsed(address,bytes32)")), [32]byte(padded(payer)), nonce,
	}
}

// TransferWithAuthorization returns the calldata that settles an authorization. It calls the
// overload that takes the signature as bytes (FiatTokenV2_2), which also works for contract
// wallets.
func (a *Authorization) TransferWithAuthorization() []byte {
	data := crypto.Keccak256(
		[]byte("transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)"))[:4:4]
	for _, w := range [][]byte{
		padded(a.From), padded(a.To), word(uint64(a.Value)), word(uint64(a.ValidAfter)),
		word(uint64(a.ValidBefore)), //nolint:gosec // parsed as not negative
		a.Nonce[:], word(7 * 32), big.NewInt(int64(len(a.Signature))).FillBytes(make([]byte, 32)),
	} {
		data = append(data, w...)
	}
	data = append(data, a.Signature...)
	return append(data, make([]byte, (32-len(a.Signature)%32)%32)...)
}

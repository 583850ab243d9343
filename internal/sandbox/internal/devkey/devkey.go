// Package devkey derives the sandbox's test keys from the mnemonic that development chains commonly
// use ("test test … junk"), so that wallets and tools can sign for the funded accounts. The keys
// are public: anything sent to them on a real chain is lost. The package only derives keys.
package devkey

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha512"
	"encoding/binary"
	"fmt"
	"math/big"
	"sync"

	"github.com/ethereum/go-ethereum/crypto"
)

// Mnemonic is the well-known development phrase (BIP-39, no passphrase). For the sandbox only.
//
//nolint:dupword // the phrase repeats a word
const Mnemonic = "test test test test test test test test test test test junk"

const hardened = uint32(1) << 31

var seed = sync.OnceValues(func() ([]byte, error) {
	// BIP-39: 2048 rounds, 64 bytes, salt "mnemonic" + passphrase.
	return pbkdf2.Key(sha512.New, Mnemonic, []byte("mnemonic"), 2048, 64)
})

// EVM derives the key of m/44'/60'/0'/0/index (BIP-44), as common development nodes do.
func EVM(index uint32) (*ecdsa.PrivateKey, error) {
	s, err := seed()
	if err != nil {
		return nil, fmt.Errorf("derive seed of the test accounts: %w", err)
	}
	key, code := split(s, []byte("Bitcoin seed"))
	for _, step := range []uint32{44 | hardened, 60 | hardened, hardened, 0, index} {
		if key, code, err = child(key, code, step); err != nil {
			return nil, fmt.Errorf("derive test account %d: %w", index, err)
		}
	}
	return crypto.ToECDSA(key)
}

// Solana derives the key of m/44'/501'/index'/0' (SLIP-10), the path that Solana wallets use.
func Solana(index uint32) (ed25519.PrivateKey, error) {
	s, err := seed()
	if err != nil {
		return nil, fmt.Errorf("derive seed of the test accounts: %w", err)
	}
	key, code := split(s, []byte("ed25519 seed"))
	for _, step := range []uint32{44, 501, index, 0} {
		key, code = split(hardenedData(key, step|hardened), code)
	}
	return ed25519.NewKeyFromSeed(key), nil
}

// child implements CKDpriv of BIP-32.
func child(key, code []byte, step uint32) ([]byte, []byte, error) {
	data := hardenedData(key, step)
	if step&hardened == 0 {
		priv, err := crypto.ToECDSA(key)
		if err != nil {
			return nil, nil, err
		}
		data = binary.BigEndian.AppendUint32(crypto.CompressPubkey(&priv.PublicKey), step)
	}
	left, right := split(data, code)
	sum := new(big.Int).SetBytes(left)
	sum.Add(sum, new(big.Int).SetBytes(key)).Mod(sum, crypto.S256().Params().N)
	return sum.FillBytes(make([]byte, 32)), right, nil
}

func hardenedData(key []byte, step uint32) []byte {
	return binary.BigEndian.AppendUint32(append([]byte{0}, key...), step)
}

// split computes an HMAC-SHA512 and splits it into the key and the chain code.
func split(data, code []byte) (left, right []byte) {
	mac := hmac.New(sha512.New, code)
	mac.Write(data)
	sum := mac.Sum(nil)
	return sum[:32], sum[32:]
}

package wallet_test

import (
	"crypto/ecdsa"
	"encoding/hex"
	"errors"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/accounts"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

// signed is an entry of the data files of signatures, which ethers made.
type signed struct {
	Name      string
	Why       string
	Message   string
	Signature string
	Time      time.Time
}

// judge verifies a message against the address that it names.
func judge(t *testing.T, c signed) error {
	t.Helper()
	m, err := wallet.Parse(c.Message)
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	if err := m.Current(c.Time); err != nil {
		return err
	}
	return wallet.VerifyMessage(t.Context(), nil, m.Address, c.Message, c.Signature)
}

func TestSignature_IsVerifiedInEachForm(t *testing.T) {
	t.Parallel()
	for _, c := range cases[signed](t, "signatures_accepted.json") {
		if err := judge(t, c); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
}

func TestSignature_WrongOnesAndWrongTimesAreToldApart(t *testing.T) {
	t.Parallel()
	for _, c := range cases[signed](t, "signatures_refused.json") {
		err := judge(t, c)
		if wrong, ok := errors.AsType[*wallet.Error](err); !ok || wrong.Name != c.Why {
			t.Errorf("%s: got %v, want %s", c.Name, err, c.Why)
		}
	}
}

// key returns a key of the tests.
func key(t *testing.T, seed string) (*ecdsa.PrivateKey, wallet.Address) {
	t.Helper()
	k, err := crypto.ToECDSA(crypto.Keccak256([]byte(seed)))
	if err != nil {
		t.Fatal(err)
	}
	return k, wallet.Address(crypto.PubkeyToAddress(k.PublicKey))
}

// sign returns 65 bytes with v 0 or 1.
func sign(t *testing.T, k *ecdsa.PrivateKey, hash [32]byte) []byte {
	t.Helper()
	signature, err := crypto.Sign(hash[:], k)
	if err != nil {
		t.Fatal(err)
	}
	return signature
}

func TestTextHash_IsThatOfEthereumClients(t *testing.T) {
	t.Parallel()
	for _, message := range []string{
		"", "a", "ü", strings.Repeat("x", 9), strings.Repeat("x", 10), strings.Repeat("\n", 12345),
	} {
		if got, want := wallet.TextHash(message), accounts.TextHash([]byte(message)); [32]byte(want) != got {
			t.Errorf("%d bytes: %x, want %x", len(message), got, want)
		}
	}
}

func TestRecover_FindsTheWalletOfEveryForm(t *testing.T) {
	t.Parallel()
	parities := map[byte]bool{}
	for i := range 32 {
		k, address := key(t, "form "+string(rune('a'+i)))
		message := strings.Repeat("m", i)
		raw := sign(t, k, wallet.TextHash(message))
		v := raw[64]
		parities[v] = true
		short := append([]byte(nil), raw[:64]...)
		short[32] |= v << 7
		old := append(append([]byte(nil), raw[:64]...), v+27)
		for name, signature := range map[string][]byte{"v 0 or 1": raw, "v 27 or 28": old, "64 bytes": short} {
			t.Run(name, func(t *testing.T) {
				before := hex.EncodeToString(signature)
				got, err := wallet.Recover(message, "0x"+before)
				if err != nil || got != address {
					t.Errorf("%s, %v; want %s", got, err, address)
				}
				got, err = wallet.RecoverHash(wallet.TextHash(message), signature)
				in := expect.In(t, "%s", name)
				require.NoError(in, err)
				expect.Equal(in, got, address)
				expect.Equal(in, hex.EncodeToString(signature), before)
			})
		}
	}
	if len(parities) != 2 {
		t.Errorf("parities %v: both must occur", parities)
	}
}

func TestSignature_MalleatedOneIsRefused(t *testing.T) {
	t.Parallel()
	k, address := key(t, "malleable")
	hash := wallet.TextHash("a message")
	raw := sign(t, k, hash)
	s := new(big.Int).SetBytes(raw[32:64])
	new(big.Int).Sub(crypto.S256().Params().N, s).FillBytes(raw[32:64])
	raw[64] ^= 1
	if other, err := crypto.SigToPub(hash[:], raw); err != nil ||
		wallet.Address(crypto.PubkeyToAddress(*other)) != address {
		t.Fatalf("the other signature is none: %v", err)
	}
	if _, err := wallet.RecoverHash(hash, raw); !errors.Is(err, wallet.ErrSignatureMalleable) {
		t.Errorf("got %v", err)
	}
}

func TestDecodeSignature_IsBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		digits int
		want   error
	}{
		{0, nil},
		{2, nil},
		{1, wallet.ErrSignatureForm},
		{2 * wallet.MaxSignature, nil},
		{2*wallet.MaxSignature + 2, wallet.ErrSignatureForm},
	} {
		t.Run(strconv.Itoa(c.digits), func(t *testing.T) {
			raw, err := wallet.DecodeSignature("0x" + strings.Repeat("a", c.digits))
			if !errors.Is(err, c.want) || (err == nil && len(raw) != c.digits/2) {
				t.Errorf("%d digits: %d bytes, %v; want %v", c.digits, len(raw), err, c.want)
			}
		})
	}
	_, address := key(t, "bounded")
	if err := wallet.Verify(t.Context(), nil, address, [32]byte{}, make([]byte, wallet.MaxSignature+1)); !errors.Is(err,
		wallet.ErrSignatureForm) {
		t.Errorf("got %v", err)
	}
}

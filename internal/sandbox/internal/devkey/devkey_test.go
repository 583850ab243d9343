package devkey

import (
	"crypto/ed25519"
	"testing"

	"github.com/ethereum/go-ethereum/crypto"
	"github.com/mr-tron/base58"
)

// The addresses are those that other development nodes print for this mnemonic.
func TestEVM_DerivesTheAccountsOfCommonDevelopmentNodes(t *testing.T) {
	t.Parallel()
	want := []string{
		"0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
		"0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
		"0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
	}
	for i, address := range want {
		key, err := EVM(uint32(i))
		if err != nil {
			t.Fatal(err)
		}
		if got := crypto.PubkeyToAddress(key.PublicKey).Hex(); got != address {
			t.Errorf("account %d is %s, want %s", i, got, address)
		}
	}
}

func TestSolana_DerivesDistinctWorkingKeys(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for i := range uint32(4) {
		key, err := Solana(i)
		if err != nil {
			t.Fatal(err)
		}
		public := ed25519.PublicKey(key[ed25519.SeedSize:])
		if name := base58.Encode(public); seen[name] {
			t.Errorf("account %d repeats %s", i, name)
		} else {
			seen[name] = true
		}
		if !ed25519.Verify(public, []byte("m"), ed25519.Sign(key, []byte("m"))) {
			t.Errorf("account %d cannot sign", i)
		}
	}
}

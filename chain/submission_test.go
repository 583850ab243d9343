package chain_test

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/rlp"
	"github.com/mr-tron/base58"
	"golang.org/x/crypto/sha3"
)

func TestSubmissionIDIsTheHashOfTheSignedBytes(t *testing.T) {
	t.Parallel()
	c := lookup(t, "eth_mainnet")
	// The example of EIP-155: the signed transaction and its published hash.
	const (
		signed = "0xf86c098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a76400008025a028ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276a067cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83"
		hash   = "0x33469b22e9f636356c4160a87eb19df52b7412e8eac32a4a55ffe88ea8350788"
	)
	field, value := c.SubmissionID([]byte(`["` + signed + `"]`))
	if field != "transaction_hash" || value != hash {
		t.Errorf("got %s %s, want %s", field, value, hash)
	}
}

func TestSubmissionIDOfABlobTransactionLeavesTheBlobsOut(t *testing.T) {
	t.Parallel()
	c := lookup(t, "eth_mainnet")
	body := []any{uint64(1), uint64(7), []byte{1, 2, 3}}
	bare, err := rlp.EncodeToBytes(body)
	if err != nil {
		t.Fatal(err)
	}
	wrapped, err := rlp.EncodeToBytes([]any{body, []any{[]byte("blob")}, []any{[]byte("commitment")}, []any{[]byte("proof")}})
	if err != nil {
		t.Fatal(err)
	}
	h := sha3.NewLegacyKeccak256()
	h.Write([]byte{3})
	h.Write(bare)
	want := "0x" + hex.EncodeToString(h.Sum(nil))
	for form, tx := range map[string][]byte{"with blobs": wrapped, "without": bare} {
		_, got := c.SubmissionID([]byte(`["0x03` + hex.EncodeToString(tx) + `"]`))
		if got != want {
			t.Errorf("%s: %s, want %s", form, got, want)
		}
	}
}

func TestSubmissionIDOnSolanaIsTheFirstSignature(t *testing.T) {
	t.Parallel()
	c := lookup(t, "solana_mainnet")
	wire := append([]byte{2}, []byte(strings.Repeat("\x01", 64)+strings.Repeat("\x02", 64)+"message")...)
	want := base58.Encode([]byte(strings.Repeat("\x01", 64)))
	for _, params := range []string{
		`["` + base58.Encode(wire) + `"]`,
		`["` + base58.Encode(wire) + `",{"skipPreflight":true}]`,
		`["` + base64.StdEncoding.EncodeToString(wire) + `",{"skipPreflight":true,"encoding":"base64"}]`,
	} {
		if field, value := c.SubmissionID([]byte(params)); field != "signature" || value != want {
			t.Errorf("%s: got %s %s", params, field, value)
		}
	}
}

func TestSubmissionIDIsEmptyForWhatIsNoTransaction(t *testing.T) {
	t.Parallel()
	for _, c := range []string{"eth_mainnet", "solana_mainnet"} {
		for _, params := range []string{
			``, `[]`, `[null]`, `[1]`, `[""]`, `["0x"]`, `["0x1"]`, `["0xzz"]`, `["abc"]`, `[{}]`, `["0x12`, `["` + strings.Repeat("z", 1<<20) + `"]`,
			`["AAAA",{"encoding":"base64"}]`, `["AAAA",{"encoding":"json"}]`,
		} {
			if field, value := lookup(t, c).SubmissionID([]byte(params)); field != "" || value != "" {
				t.Errorf("%s %.60s: got %s %s", c, params, field, value)
			}
		}
	}
}

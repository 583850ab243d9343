package wallet_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

// seeds adds every message and signature of the data files.
func seeds(f *testing.F, add func(message, signature string)) {
	f.Helper()
	for _, name := range []string{
		"messages_accepted.json", "messages_refused.json", "signatures_accepted.json", "signatures_refused.json",
	} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		var all []struct{ Message, Signature string }
		if err := json.Unmarshal(text, &all); err != nil || len(all) == 0 {
			f.Fatal(name, err)
		}
		for _, c := range all {
			add(c.Message, c.Signature)
		}
	}
}

// An accepted message renders to the same bytes, is valid, and contains no control or non-ASCII
// character.
func FuzzParse(f *testing.F) {
	seeds(f, func(message, _ string) { f.Add(message) })
	f.Fuzz(func(t *testing.T, text string) {
		m, err := wallet.Parse(text)
		if err != nil {
			require.ErrorIs(t, err, wallet.ErrMessage)
			require.Nil(t, m)
			require.AtMost(t, len(err.Error()), 500, err.Error())
			return
		}
		if m.String() != text {
			t.Fatalf("%q renders to %q", text, m)
		}
		if err := m.Validate(); err != nil {
			t.Fatalf("%q does not validate: %v", text, err)
		}
		for i := range len(text) {
			if c := text[i]; c != '\n' && (c < ' ' || c > '~') {
				t.Fatalf("%q is accepted with the character %#x", text, c)
			}
		}
		stored, err := json.Marshal(m)
		again := &wallet.Message{}
		in := expect.In(t, "%q comes out of JSON", text)
		require.NoError(in, err)
		require.NoError(in, json.Unmarshal(stored, again))
		require.True(in, reflect.DeepEqual(again, m))
	})
}

// A message that validates parses to itself, for any contents of its fields.
func FuzzValidate(f *testing.F) {
	f.Add("https", "a.example", "statement", "https://a.example", uint64(1), "01234567", "2026-01-01T00:00:00Z", "1",
		"urn:a")
	f.Add("", "a.example", "s\n\nURI: a:b", "a:b\nVersion: 1", uint64(0), "01234567\nIssued At: x", "", "1\nResources:",
		"a:b\n- c:d")
	f.Fuzz(func(t *testing.T, scheme, domain, statement, uri string, id uint64,
		nonce, issued, request, resource string,
	) {
		m := &wallet.Message{
			Scheme: scheme, Domain: domain, Statement: &statement, URI: uri, ChainID: id, Nonce: nonce,
			RequestID: &request, Resources: []string{resource},
		}
		if m.IssuedAt.UnmarshalText([]byte(issued)) != nil || m.Validate() != nil {
			return
		}
		again, err := wallet.Parse(m.String())
		if err != nil || !reflect.DeepEqual(again, m) {
			t.Fatalf("%+v reads back as %+v, %v", m, again, err)
		}
	})
}

// No signature panics. The signer that is recovered from a signature is recovered from each form of
// it, and from no malleable one.
func FuzzSignature(f *testing.F) {
	seeds(f, func(message, signature string) {
		if raw, err := wallet.DecodeSignature(signature); err == nil {
			f.Add(message, raw)
		}
	})
	f.Add("wrapped", wrap(wallet.Address{1}, []byte{1, 2, 3, 4}, make([]byte, 65)))
	f.Fuzz(func(t *testing.T, message string, signature []byte) {
		before := bytes.Clone(signature)
		hash := wallet.TextHash(message)
		signer, err := wallet.RecoverHash(hash, signature)
		if again, wrong := wallet.Recover(message, "0x"+hex.EncodeToString(signature)); again != signer ||
			(err == nil) != (wrong == nil) {
			t.Fatalf("in digits: %s, %v; in bytes: %s, %v", again, wrong, signer, err)
		}
		refusing := &caller{answer: []byte{2}}
		if verdict := wallet.Verify(t.Context(), refusing, wallet.Address{1}, hash, signature); verdict == nil {
			t.Fatal("accepted for nobody")
		}
		if !bytes.Equal(signature, before) {
			t.Fatal("the signature was written to")
		}
		if err != nil {
			if _, ok := errors.AsType[*wallet.Error](err); !ok || !signer.IsZero() {
				t.Fatalf("%s, %v", signer, err)
			}
			return
		}
		r, s := signature[:32], bytes.Clone(signature[32:64])
		var v byte
		if len(signature) == 64 {
			v = s[0] >> 7
			s[0] &= 0x7f
		} else {
			v = (signature[64] + 1) & 1 // 27 is 0
			if signature[64] < 2 {
				v = signature[64]
			}
		}
		whole := append(append(bytes.Clone(r), s...), v)
		key, err := crypto.SigToPub(hash[:], whole)
		if err != nil || wallet.Address(crypto.PubkeyToAddress(*key)) != signer {
			t.Fatalf("another library recovers %v, %v", key, err)
		}
		short := append(bytes.Clone(r), s...)
		short[32] |= v << 7
		for _, form := range [][]byte{whole, append(append(bytes.Clone(r), s...), v+27), short} {
			if got, err := wallet.RecoverHash(hash, form); err != nil || got != signer {
				t.Fatalf("%x: %s, %v; want %s", form, got, err, signer)
			}
		}
	})
}

package account_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"math/big"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// encodeBig returns a number in base62 by math/big, independently of the encoder.
func encodeBig(n *big.Int, width int) string {
	n = new(big.Int).Set(n)
	text := make([]byte, width)
	for i := width - 1; i >= 0; i-- {
		var digit big.Int
		n.DivMod(n, big.NewInt(62), &digit)
		text[i] = alphabet[digit.Int64()]
	}
	if n.Sign() != 0 {
		panic("does not fit")
	}
	return string(text)
}

// seal appends the checksum that keys.go documents.
func seal(body string) string {
	return body + encodeBig(big.NewInt(int64(crc32.ChecksumIEEE([]byte(body)))), 6)
}

func mintKey(t testing.TB) account.Key {
	t.Helper()
	k, err := account.MintKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestSecrets_HaveTheDocumentedForm(t *testing.T) {
	t.Parallel()
	for name, source := range map[string][]byte{
		"zero": make([]byte, 32),
		"one":  append(make([]byte, 31), 1),
		"most": bytes.Repeat([]byte{0xff}, 32),
		"some": []byte("0123456789abcdefghijklmnopqrstuv"),
	} {
		t.Run(name, func(t *testing.T) {
			k, err := account.MintKey(bytes.NewReader(source))
			if err != nil {
				t.Fatal(err)
			}
			c, err := account.MintCredential(bytes.NewReader(source))
			if err != nil {
				t.Fatal(err)
			}
			digits := encodeBig(new(big.Int).SetBytes(source), 43)
			for prefix, got := range map[string]string{"cag_": k.Reveal(), "cagx_": c.Reveal()} {
				if want := seal(prefix + digits); got != want {
					t.Errorf("%s, want %s", got, want)
				}
			}
			if parsed, ok := account.ParseKey(k.Reveal()); !ok || parsed != k {
				t.Error("the key does not parse")
			}
			if parsed, ok := account.ParseCredential([]byte(c.Reveal())); !ok || parsed != c {
				t.Error("the credential does not parse")
			}
		})
	}
}

func TestClaimCode_FollowsFromKeyAndPepper(t *testing.T) {
	t.Parallel()
	hasher := func(pepper string) *account.Hasher {
		h, err := account.NewHasher([]byte(strings.Repeat(pepper, account.MinPepperBytes)))
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	key, other, h := mintKey(t), mintKey(t), hasher("p")
	code := key.ClaimCode(h)
	parsed, ok := account.ParseClaimCode(code.Reveal())
	require.True(t, ok)
	expect.Equal(t, parsed, code)
	expect.HasPrefix(t, code.Reveal(), "cagc_")
	if key.ClaimCode(h) != code {
		t.Error("the same key has two claim codes")
	}
	if other.ClaimCode(h) == code || key.ClaimCode(hasher("q")) == code {
		t.Error("two keys, or two peppers, share a claim code")
	}
	if strings.Contains(code.Reveal(), key.Reveal()[4:20]) || code.Digest(h) == key.Digest(h) {
		t.Error("the code gives something of its key away")
	}
}

func TestKeys_Differ(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for range 1000 {
		k := mintKey(t)
		if seen[k.Reveal()] {
			t.Fatal("the same key twice")
		}
		seen[k.Reveal()] = true
		if k.Prefix() != k.Reveal()[:12] {
			t.Fatalf("prefix %s", k.Prefix())
		}
	}
}

func TestKeys_AreNotMadeWithoutRandomness(t *testing.T) {
	t.Parallel()
	for _, source := range []io.Reader{bytes.NewReader(make([]byte, 31)), iotest.ErrReader(errors.New("no entropy"))} {
		if k, err := account.MintKey(source); err == nil || !k.IsZero() {
			t.Errorf("minted a key out of too little: %v", err)
		}
	}
}

func TestParseKey_RefusesWhatWasNotMinted(t *testing.T) {
	t.Parallel()
	good := mintKey(t).Reveal()
	over := new(big.Int).Lsh(big.NewInt(1), 256)
	limit := encodeBig(new(big.Int).Sub(over, big.NewInt(1)), 43)
	if _, ok := account.ParseKey(seal("cag_" + limit)); !ok {
		t.Error("the largest key is refused")
	}
	for name, text := range map[string]string{
		"empty":                 "",
		"prefix alone":          "cag_",
		"cut":                   good[:len(good)-1],
		"longer":                good + "0",
		"space before":          " " + good,
		"space after":           good + " ",
		"line end":              good + "\n",
		"upper case prefix":     "CAG_" + good[4:],
		"other prefix":          seal("cax_" + good[4:47]),
		"credential":            seal("cagx_" + good[4:47]),
		"claim code":            seal("cagc_" + good[4:47]),
		"above 256 bits":        seal("cag_" + encodeBig(over, 43)),
		"far above 256 bits":    seal("cag_" + strings.Repeat("z", 43)),
		"sealed, not base62":    seal("cag_" + strings.Repeat("-", 43)),
		"sealed, beyond ASCII":  seal("cag_" + strings.Repeat("é", 21) + "0"),
		"sealed, NUL":           seal("cag_" + strings.Repeat("\x00", 43)),
		"checksum in zeros":     good[:47] + "000000",
		"huge":                  strings.Repeat(good, 100_000),
		"case of one character": swapCase(good),
	} {
		t.Run(name, func(t *testing.T) {
			if k, ok := account.ParseKey(text); ok || !k.IsZero() {
				t.Errorf("%s parses", name)
			}
			if _, ok := account.ParseKey([]byte(text)); ok {
				t.Errorf("%s parses as bytes", name)
			}
		})
	}
	if _, ok := account.ParseCredential(good); ok {
		t.Error("a key parses as a credential")
	}
}

// swapCase changes the case of the first letter after the prefix.
func swapCase(key string) string {
	b := []byte(key)
	for i := 4; i < len(b); i++ {
		if b[i] >= 'A' {
			b[i] ^= 0x20
			return string(b)
		}
	}
	return "x" + key
}

func FuzzParseKey(f *testing.F) {
	for _, seed := range []string{
		"", "cag_", seal("cag_" + strings.Repeat("0", 43)),
		seal("cag_" + encodeBig(new(big.Int).Lsh(big.NewInt(1), 255), 43)), seal("cag_" + strings.Repeat("z", 43)),
		seal("cagx_" + strings.Repeat("1", 43)), strings.Repeat("0", 53),
	} {
		f.Add([]byte(seed), uint8(7), byte('x'))
	}
	f.Fuzz(func(t *testing.T, input []byte, at uint8, char byte) {
		if k, ok := account.ParseKey(input); ok {
			if k.Reveal() != string(input) || seal(k.Reveal()[:47]) != k.Reveal() {
				t.Fatalf("%q parses as %q", input, k.Reveal())
			}
		}
		// Any 32 bytes make a key that parses, and no key that differs from it in one character
		// does.
		var source [32]byte
		copy(source[:], input)
		k, err := account.MintKey(bytes.NewReader(source[:]))
		if err != nil {
			t.Fatal(err)
		}
		text := []byte(k.Reveal())
		if parsed, ok := account.ParseKey(text); !ok || parsed != k {
			t.Fatalf("%s does not parse", text)
		}
		i := int(at) % len(text)
		if text[i] == char {
			return
		}
		text[i] = char
		if _, ok := account.ParseKey(text); ok {
			t.Fatalf("%s parses with character %d changed", text, i)
		}
	})
}

func TestParseKey_OneChangedCharacterNeverParses(t *testing.T) {
	t.Parallel()
	good := []byte(mintKey(t).Reveal())
	for i := range good {
		for c := range 256 {
			changed := bytes.Clone(good)
			changed[i] = byte(c)
			if _, ok := account.ParseKey(changed); ok && changed[i] != good[i] {
				t.Fatalf("character %d changed to %q parses", i, byte(c))
			}
		}
	}
}

func TestPlaintext_ShowsNowhereButInReveal(t *testing.T) {
	t.Parallel()
	k := mintKey(t)
	c, err := account.MintCredential(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	record := struct {
		Key        account.Key
		Pointer    *account.Key
		Credential account.Credential
		Many       map[string]account.Key
	}{k, &k, c, map[string]account.Key{"one": k}}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T %v"} {
		fmt.Fprintf(&out, verb+"\n", k)
		fmt.Fprintf(&out, verb+"\n", &k)
		fmt.Fprintf(&out, verb+"\n", record)
	}
	encoded, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	out.Write(encoded)
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(handler).Info("minted", "key", k, "pointer", &k, "record", record)
	}
	fmt.Fprintln(&out, k.String(), fmt.Errorf("refuse %v: %w", k, io.EOF))
	for _, secret := range []string{k.Reveal(), c.Reveal()} {
		for _, form := range []string{secret[4:30], fmt.Sprintf("%x", secret[4:30]), decimals(secret[4:30])} {
			if strings.Contains(strings.ToLower(out.String()), strings.ToLower(form)) {
				t.Errorf("the output holds %s:\n%s", form, out.String())
			}
		}
	}
	if !strings.Contains(out.String(), "[redacted]") {
		t.Error("nothing was printed at all")
	}
}

func TestDigest_IsHMACOfTheWholePlaintext(t *testing.T) {
	t.Parallel()
	pepper := bytes.Repeat([]byte("p"), 32)
	h, err := account.NewHasher(pepper)
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 200 {
				k := mintKey(t)
				mac := hmac.New(sha256.New, pepper)
				mac.Write([]byte(k.Reveal()))
				if got := k.Digest(h); !bytes.Equal(got[:], mac.Sum(nil)) {
					t.Errorf("digest of %s is %s", k.Prefix(), got)
				}
			}
		})
	}
	wait.Wait()
	other, err := account.NewHasher(bytes.Repeat([]byte("q"), 32))
	if err != nil {
		t.Fatal(err)
	}
	k := mintKey(t)
	if k.Digest(h) == k.Digest(other) {
		t.Error("the pepper does not matter")
	}
	if _, err := account.NewHasher(pepper[:31]); err == nil {
		t.Error("a short pepper is taken")
	}
}

func TestDigest_TravelsAsText(t *testing.T) {
	t.Parallel()
	h, err := account.NewHasher(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	d := mintKey(t).Digest(h)
	encoded, err := json.Marshal(d)
	if err != nil || string(encoded) != `"`+d.String()+`"` {
		t.Fatalf("%s, %v", encoded, err)
	}
	var back account.Digest
	if err := json.Unmarshal(encoded, &back); err != nil || back != d {
		t.Errorf("%s comes back as %s: %v", d, back, err)
	}
	for _, bad := range []string{
		`""`, `"00"`, `"` + strings.Repeat("zz", 32) + `"`, `"` + strings.Repeat("00", 33) + `"`,
	} {
		if err := json.Unmarshal([]byte(bad), &back); err == nil {
			t.Errorf("%s is a digest", bad)
		}
	}
}

// Allocations are counted per process, so the test must not run in parallel.
func TestParseKey_DoesNotAllocate(t *testing.T) { //nolint:paralleltest // it counts allocations
	text := []byte(mintKey(t).Reveal())
	asString := string(text)
	allocs := testing.AllocsPerRun(1000, func() {
		_, ok := account.ParseKey(text)
		if _, again := account.ParseKey(asString); !ok || !again {
			t.Fatal("does not parse")
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations for a key", allocs)
	}
}

func BenchmarkParseAndDigestKey(b *testing.B) {
	h, err := account.NewHasher(make([]byte, 32))
	if err != nil {
		b.Fatal(err)
	}
	text := []byte(mintKey(b).Reveal())
	b.ReportAllocs()
	for b.Loop() {
		k, ok := account.ParseKey(text)
		if !ok {
			b.Fatal("does not parse")
		}
		_ = k.Digest(h)
	}
}

// decimals returns a byte slice as %v prints it, without the brackets.
func decimals(text string) string {
	var parts []string
	for _, b := range []byte(text) {
		parts = append(parts, strconv.Itoa(int(b)))
	}
	return strings.Join(parts, " ")
}

func TestCredentialOf_FollowsFromTheKeyAndThePepperAlone(t *testing.T) {
	t.Parallel()
	pepper := func(b byte) *account.Hasher {
		h, err := account.NewHasher(bytes.Repeat([]byte{b}, account.MinPepperBytes))
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	id, one := account.NewKeyID(), pepper(1)
	c := account.CredentialOf(id, one)
	if parsed, ok := account.ParseCredential(c.Reveal()); !ok || parsed != c {
		t.Errorf("%q is no credential", c.Reveal())
	}
	if again := account.CredentialOf(id, pepper(1)); again != c {
		t.Error("another process tells another one")
	}
	if other := account.CredentialOf(id, pepper(2)); other == c {
		t.Error("it does not follow from the pepper")
	}
	if other := account.CredentialOf(account.NewKeyID(), one); other == c {
		t.Error("it does not follow from the key")
	}
}

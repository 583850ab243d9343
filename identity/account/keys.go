package account

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"math/bits"
	"strconv"
)

// The format of keys, credentials and claim codes: a prefix, 256 random bits as 43 characters of
// base62 (big-endian, padded on the left with 0), and a checksum of 6: the CRC-32 (IEEE) of
// everything before it, in base62, padded on the left with 0. The checksum lets a mistyped key be
// refused without any look-up. It is no protection against forgery; the random bits are.
const (
	keyPrefix        = "cag_"
	credentialPrefix = "cagx_"
	claimPrefix      = "cagc_"

	randomBytes   = 32
	randomChars   = 43
	checksumChars = 6
	secretChars   = randomChars + checksumChars
	longestSecret = len(credentialPrefix) + secretChars

	// shownChars is the length of the prefix that lists show.
	shownChars = 12
)

// base62 is in ASCII order, so that texts of one length compare as the numbers that they encode.
const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Key is the plaintext of an API key. It prints, logs and marshals as a placeholder; only Reveal
// returns it.
type Key struct{ secret }

// Credential is the plaintext of a pay-per-call credential, redacted like Key.
type Credential struct{ secret }

// ClaimCode is the plaintext of a code with which an owner adopts a key, redacted like Key.
type ClaimCode struct{ secret }

// MintKey makes a key from 32 bytes of a cryptographic random source.
func MintKey(rand io.Reader) (Key, error) {
	s, err := mint(rand, keyPrefix)
	return Key{s}, err
}

// MintCredential makes a pay-per-call credential from 32 bytes of a cryptographic random source.
func MintCredential(rand io.Reader) (Credential, error) {
	s, err := mint(rand, credentialPrefix)
	return Credential{s}, err
}

// CredentialOf derives the pay-per-call credential of a key from the key's id and the pepper. So
// every process can return it to concurrent callers, and it is neither stored nor sent between
// processes. The id alone reveals nothing of it.
func CredentialOf(id KeyID, h *Hasher) Credential {
	derived := h.DigestOf("pay-per-call credential", id.String())
	s, err := mint(bytes.NewReader(derived[:]), credentialPrefix)
	if err != nil { // it reads 32 bytes
		panic(err)
	}
	return Credential{s}
}

// ClaimCode derives the code with which an owner adopts the key from the key and the pepper. So
// only the holder of the key can be given it again. The code reveals nothing of the key.
func (k Key) ClaimCode(h *Hasher) ClaimCode {
	s, err := mint(bytes.NewReader(h.derive("claim code\x00", k.secret)), claimPrefix)
	if err != nil { // it reads 32 bytes
		panic(err)
	}
	return ClaimCode{s}
}

// ParseKey checks prefix, length, alphabet, range and checksum, without allocating.
func ParseKey[T ~string | ~[]byte](text T) (Key, bool) {
	s, ok := parse(text, keyPrefix)
	return Key{s}, ok
}

// ParseCredential is ParseKey for pay-per-call credentials.
func ParseCredential[T ~string | ~[]byte](text T) (Credential, bool) {
	s, ok := parse(text, credentialPrefix)
	return Credential{s}, ok
}

// ParseClaimCode is ParseKey for claim codes.
func ParseClaimCode[T ~string | ~[]byte](text T) (ClaimCode, bool) {
	s, ok := parse(text, claimPrefix)
	return ClaimCode{s}, ok
}

// secret holds a plaintext inline, so that parsing does not allocate. The zero secret is empty.
type secret struct {
	text   [longestSecret]byte
	length int
}

// Reveal returns the plaintext. Use it only for the one answer that shows it to its owner.
func (s secret) Reveal() string { return string(s.text[:s.length]) }

// Prefix returns the first 12 characters, which lists show. They are not secret.
func (s secret) Prefix() string { return string(s.text[:min(s.length, shownChars)]) }

// IsZero reports whether there is no plaintext.
func (s secret) IsZero() bool { return s.length == 0 }

const redacted = "[redacted]"

// String returns a placeholder.
func (s secret) String() string { return redacted }

// Format prints the placeholder for every verb, so that %v, %+v, %#v and %x of a surrounding struct
// do not reveal the plaintext either.
func (s secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// LogValue logs the placeholder.
func (s secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText encodes the placeholder, for JSON and every other text encoding.
func (s secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// MarshalJSON encodes the placeholder.
func (s secret) MarshalJSON() ([]byte, error) { return strconv.AppendQuote(nil, redacted), nil }

func mint(rand io.Reader, prefix string) (secret, error) {
	var (
		s      secret
		random [randomBytes]byte
	)
	if _, err := io.ReadFull(rand, random[:]); err != nil {
		return secret{}, fmt.Errorf("mint a %s secret: %w", prefix, err)
	}
	n := copy(s.text[:], prefix)
	encodeRandom(s.text[n:n+randomChars], random)
	n += randomChars
	encode32(s.text[n:n+checksumChars], checksum(s.text[:n]))
	s.length = len(prefix) + secretChars
	return s, nil
}

// largest is the text of 256 set bits; a greater text encodes no 256 bits.
var largest = func() (text [randomChars]byte) {
	var random [randomBytes]byte
	for i := range random {
		random[i] = 0xff
	}
	encodeRandom(text[:], random)
	return text
}()

func parse[T ~string | ~[]byte](text T, prefix string) (secret, bool) {
	var s secret
	if len(text) != len(prefix)+secretChars {
		return secret{}, false
	}
	n := copy(s.text[:], text)
	body := s.text[len(prefix) : n-checksumChars]
	if string(s.text[:len(prefix)]) != prefix || !inAlphabet(body) || string(body) > string(largest[:]) {
		return secret{}, false
	}
	var sum [checksumChars]byte
	encode32(sum[:], checksum(s.text[:n-checksumChars]))
	if string(sum[:]) != string(s.text[n-checksumChars:n]) {
		return secret{}, false
	}
	s.length = len(prefix) + secretChars
	return s, true
}

func inAlphabet(text []byte) bool {
	for _, c := range text {
		if !letters[c] {
			return false
		}
	}
	return true
}

// letters is the set of bytes of the alphabet.
var letters = func() (set [256]bool) {
	for _, c := range []byte("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") {
		set[c] = true
	}
	return set
}()

// checksum is crc32.ChecksumIEEE, byte by byte: the library's goes through a function variable,
// which makes its argument escape to the heap.
func checksum(text []byte) uint32 {
	crc := ^uint32(0)
	for _, c := range text {
		crc = crc32.IEEETable[byte(crc&0xff)^c] ^ crc>>8
	}
	return ^crc
}

// encode32 fills dst with the base62 of n, padded on the left.
func encode32(dst []byte, n uint32) {
	for i := len(dst) - 1; i >= 0; i-- {
		dst[i] = base62[n%uint32(len(base62))]
		n /= uint32(len(base62))
	}
}

// encodeRandom fills dst with the base62 of a 256-bit big-endian number, padded on the left.
func encodeRandom(dst []byte, random [randomBytes]byte) {
	var limbs [randomBytes / 4]uint32
	for i := range limbs {
		limbs[i] = binary.BigEndian.Uint32(random[4*i:])
	}
	for i := len(dst) - 1; i >= 0; i-- {
		var rest uint32
		for j, limb := range limbs {
			limbs[j], rest = bits.Div32(rest, limb, uint32(len(base62)))
		}
		dst[i] = base62[rest]
	}
}

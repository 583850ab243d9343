package account

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"sync"
)

// Digest is the HMAC-SHA-256 of the plaintext of a key, credential or claim code under the
// operator's pepper. Only digests are stored and looked up. As text it is hexadecimal.
type Digest [sha256.Size]byte

// String returns the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// MarshalText encodes the digest in hexadecimal.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText parses 64 hexadecimal characters.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(d)) {
		return fmt.Errorf("a digest has %d characters, this has %d", hex.EncodedLen(len(d)), len(text))
	}
	if _, err := hex.Decode(d[:], text); err != nil {
		return fmt.Errorf("decode digest: %w", err)
	}
	return nil
}

// MinPepperBytes is the minimum length of a pepper: a shorter one could be found by brute force by
// someone with the database.
const MinPepperBytes = 32

// Hasher computes digests under one pepper. It is safe for concurrent use and does not allocate
// once warm.
type Hasher struct {
	states sync.Pool // of *hashState
}

// hashState is pooled, because arguments of hash.Hash escape and would be allocated for each
// digest.
type hashState struct {
	mac  hash.Hash
	text [longestSecret]byte
	sum  Digest
}

// NewHasher returns a Hasher for a pepper of at least MinPepperBytes.
func NewHasher(pepper []byte) (*Hasher, error) {
	if len(pepper) < MinPepperBytes {
		return nil, fmt.Errorf("the pepper has %d bytes: give it at least %d random ones", len(pepper), MinPepperBytes)
	}
	pepper = append([]byte(nil), pepper...)
	return &Hasher{states: sync.Pool{New: func() any {
		return &hashState{mac: hmac.New(sha256.New, pepper)}
	}}}, nil
}

// Digest returns the digest of the plaintext. It includes the prefix, so that a key and a
// credential never share a digest.
func (s secret) Digest(h *Hasher) Digest {
	state := h.states.Get().(*hashState) //nolint:errcheck,forcetypeassert // the pool holds nothing else
	state.mac.Reset()
	state.text = s.text
	_, _ = state.mac.Write(state.text[:s.length]) // a hash never fails to write
	state.mac.Sum(state.sum[:0])
	sum := state.sum
	state.text = [longestSecret]byte{}
	h.states.Put(state)
	return sum
}

// derive returns 32 bytes derived from a label, a plaintext and the pepper. The label must contain
// a byte that no plaintext has, so that the result is never the digest of a secret.
func (h *Hasher) derive(label string, s secret) []byte {
	state := h.states.Get().(*hashState) //nolint:errcheck,forcetypeassert // the pool holds nothing else
	defer h.states.Put(state)
	state.mac.Reset()
	_, _ = state.mac.Write([]byte(label)) // a hash never fails to write
	_, _ = state.mac.Write(s.text[:s.length])
	return state.mac.Sum(nil)
}

// DigestOf returns the digest of a text for a purpose. It differs from that for every other purpose
// and from every secret's digest.
func (h *Hasher) DigestOf(purpose, text string) Digest {
	state := h.states.Get().(*hashState) //nolint:errcheck,forcetypeassert // the pool holds nothing else
	defer h.states.Put(state)
	state.mac.Reset()
	_, _ = state.mac.Write([]byte(purpose + "\x00")) // a hash never fails to write
	_, _ = state.mac.Write([]byte(text))
	return Digest(state.mac.Sum(nil))
}

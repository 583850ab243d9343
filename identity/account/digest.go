package account

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"sync"
)

// Digest is what of a key, credential or claim code is stored and looked up: HMAC-SHA-256 of its
// plaintext under the operator's pepper. As text it is hexadecimal.
type Digest [sha256.Size]byte

// String is the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// MarshalText encodes the digest in hexadecimal.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads 64 hexadecimal characters.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(d)) {
		return fmt.Errorf("a digest has %d characters, this has %d", hex.EncodedLen(len(d)), len(text))
	}
	if _, err := hex.Decode(d[:], text); err != nil {
		return fmt.Errorf("decode digest: %w", err)
	}
	return nil
}

// MinPepperBytes is the least length of a pepper: with a shorter one, who holds the database could
// search for it.
const MinPepperBytes = 32

// Hasher digests secrets under one pepper. It is safe for concurrent use and does not allocate once
// warm.
type Hasher struct {
	states sync.Pool // of *hashState
}

// hashState keeps what would otherwise be allocated for each digest, because arguments of hash.Hash
// escape.
type hashState struct {
	mac  hash.Hash
	text [longestSecret]byte
	sum  Digest
}

// NewHasher takes the pepper, at least MinPepperBytes long.
func NewHasher(pepper []byte) (*Hasher, error) {
	if len(pepper) < MinPepperBytes {
		return nil, fmt.Errorf("the pepper has %d bytes: give it at least %d random ones", len(pepper), MinPepperBytes)
	}
	pepper = append([]byte(nil), pepper...)
	return &Hasher{states: sync.Pool{New: func() any {
		return &hashState{mac: hmac.New(sha256.New, pepper)}
	}}}, nil
}

// Digest digests the plaintext. The prefix is part of it, so that a key and a credential never
// share a digest.
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

// derive returns 32 bytes that follow from a label, a plaintext and the pepper. A label ends with a
// byte that no plaintext has, so that what is derived is never the digest of anything.
func (h *Hasher) derive(label string, s secret) []byte {
	state := h.states.Get().(*hashState) //nolint:errcheck,forcetypeassert // the pool holds nothing else
	defer h.states.Put(state)
	state.mac.Reset()
	_, _ = state.mac.Write([]byte(label)) // a hash never fails to write
	_, _ = state.mac.Write(s.text[:s.length])
	return state.mac.Sum(nil)
}

// DigestOf digests a text for a purpose. The same text has another digest for another purpose, and
// none that a secret has.
func (h *Hasher) DigestOf(purpose, text string) Digest {
	state := h.states.Get().(*hashState) //nolint:errcheck,forcetypeassert // the pool holds nothing else
	defer h.states.Put(state)
	state.mac.Reset()
	_, _ = state.mac.Write([]byte(purpose + "\x00")) // a hash never fails to write
	_, _ = state.mac.Write([]byte(text))
	return Digest(state.mac.Sum(nil))
}

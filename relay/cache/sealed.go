package cache

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/chainaccess/gateway/relay/jsonrpc"
)

// seal authenticates values in Redis. A sealed value is: version, expiry (unix milliseconds),
// HMAC-SHA-256 over version, expiry, key and value, then the value. A value written without the
// secret is a miss.
type seal struct{ secret []byte }

const (
	sealVersion = 1
	expiryAt    = 1
	sumAt       = expiryAt + 8
	valueAt     = sumAt + sha256.Size
)

func newSeal(secret []byte) (seal, error) {
	derived, err := hkdf.Key(sha256.New, secret, nil, "chain access gateway: stored answers", sha256.Size)
	if err != nil {
		return seal{}, fmt.Errorf("derive the secret of stored answers: %w", err)
	}
	return seal{derived}, nil
}

func (s seal) close(key Key, value []byte, expires time.Time) []byte {
	b := make([]byte, valueAt, valueAt+len(value))
	b[0] = sealVersion
	binary.BigEndian.PutUint64(b[expiryAt:], uint64(expires.UnixMilli()))
	copy(b[sumAt:], s.sum(key, b[:sumAt], value))
	return append(b, value...)
}

// open returns the value that was sealed under key; ok is false for anything else.
func (s seal) open(key Key, b []byte) (value []byte, expires time.Time, ok bool) {
	if len(b) < valueAt || b[0] != sealVersion {
		return nil, time.Time{}, false
	}
	value = b[valueAt:]
	if !hmac.Equal(b[sumAt:valueAt], s.sum(key, b[:sumAt], value)) || !jsonrpc.Valid(value) {
		return nil, time.Time{}, false
	}
	return value, time.UnixMilli(int64(binary.BigEndian.Uint64(b[expiryAt:]))), true
}

func (s seal) sum(key Key, header, value []byte) []byte {
	h := hmac.New(sha256.New, s.secret)
	h.Write(header)
	h.Write(key[:])
	h.Write(value)
	return h.Sum(nil)
}

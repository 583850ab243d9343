// Package account owns who calls: accounts, keys, services, the fences around them, and the minting and parsing of keys. It
// holds no storage and no counters.
package account

import "github.com/google/uuid"

// ID names an account (UUIDv7).
type ID struct{ uuid.UUID }

// KeyID names an API key (UUIDv7). It is not a secret and not the key.
type KeyID struct{ uuid.UUID }

// NewID makes an account id.
func NewID() ID { return ID{uuid.Must(uuid.NewV7())} }

// NewKeyID makes a key id.
func NewKeyID() KeyID { return KeyID{uuid.Must(uuid.NewV7())} }

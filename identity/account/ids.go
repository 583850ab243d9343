// Package account defines who calls: accounts, keys, services and their limits, and mints and
// parses keys and tokens. It has no storage and no counters.
package account

import (
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// ID identifies an account (UUIDv7). Its text is the canonical form of 36 characters; databases
// store a uuid.
type ID struct{ uuid.UUID }

// KeyID identifies an API key (UUIDv7). It is not a secret and not the key.
type KeyID struct{ uuid.UUID }

// AgentID identifies an agent of an account (UUIDv7).
type AgentID struct{ uuid.UUID }

// UserID identifies a person who signs in (UUIDv7).
type UserID struct{ uuid.UUID }

// NewAgentID returns a new agent id.
func NewAgentID() AgentID { return AgentID{uuid.Must(uuid.NewV7())} }

// NewUserID returns a new user id.
func NewUserID() UserID { return UserID{uuid.Must(uuid.NewV7())} }

// Actor returns the user's name in the audit log. It contains no e-mail address, because it is also
// an input of workflows.
func (id UserID) Actor() string { return actorUser + id.String() }

// ParseActor parses what Actor returns.
func ParseActor(actor string) (UserID, bool) {
	text, ok := strings.CutPrefix(actor, actorUser)
	id, err := parseCanonical(text)
	return UserID{id}, ok && err == nil
}

const actorUser = "user "

// NewID returns a new account id.
func NewID() ID { return ID{uuid.Must(uuid.NewV7())} }

// NewKeyID returns a new key id.
func NewKeyID() KeyID { return KeyID{uuid.Must(uuid.NewV7())} }

// ParseID parses the canonical form of an account id, and no other.
func ParseID(s string) (ID, error) {
	id, err := parseCanonical(s)
	if err != nil {
		return ID{}, fmt.Errorf("parse account id: %w", err)
	}
	return ID{id}, nil
}

// ParseKeyID parses the canonical form of a key id, and no other.
func ParseKeyID(s string) (KeyID, error) {
	id, err := parseCanonical(s)
	if err != nil {
		return KeyID{}, fmt.Errorf("parse key id: %w", err)
	}
	return KeyID{id}, nil
}

// IsZero reports whether the id names nothing.
func (id ID) IsZero() bool { return id.UUID == uuid.Nil }

// IsZero reports whether the id names nothing.
func (id KeyID) IsZero() bool { return id.UUID == uuid.Nil }

// IsZero reports whether the id names nothing.
func (id AgentID) IsZero() bool { return id.UUID == uuid.Nil }

// IsZero reports whether the id names nothing.
func (id UserID) IsZero() bool { return id.UUID == uuid.Nil }

// parseCanonical refuses the braces, URN and bare forms that uuid.Parse also accepts, so that an id
// has one spelling.
func parseCanonical(s string) (uuid.UUID, error) {
	const canonical = 36
	if len(s) != canonical {
		return uuid.Nil, fmt.Errorf("an id has %d characters, this has %d", canonical, len(s))
	}
	id, err := uuid.Parse(s)
	if err != nil {
		return uuid.Nil, fmt.Errorf("not an id: %w", err)
	}
	return id, nil
}

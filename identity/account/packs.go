package account

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
)

// PackID identifies a pack that was granted to an account (UUIDv7).
type PackID struct{ uuid.UUID }

// NewPackID returns a new pack id.
func NewPackID() PackID { return PackID{uuid.Must(uuid.NewV7())} }

// ParsePackID parses the canonical form of a pack id, and no other.
func ParsePackID(s string) (PackID, error) {
	id, err := parseCanonical(s)
	if err != nil {
		return PackID{}, fmt.Errorf("parse pack id: %w", err)
	}
	return PackID{id}, nil
}

// Pack is a pack that an account holds.
type Pack struct {
	ID      PackID
	Units   plan.Units // when it was granted
	Expires time.Time  // first instant at which it is no longer drawn
	Used    plan.Units // use recorded in PostgreSQL; the meter may know of more
}

// Check refuses units that no pack can hold.
func (p Pack) Check() *fault.Error {
	if p.Units < 1 || p.Units > MaxCap {
		return refuse("a pack of %s units; packs hold more than 0 and at most %s.", p.Units, MaxCap)
	}
	return nil
}

// The sources that units are drawn from, as usage lines name them.
const (
	SourcePlan       = "plan"
	sourcePackPrefix = "pack:"
)

// Source returns the name of the pack as a source in usage lines.
func (id PackID) Source() string { return sourcePackPrefix + id.String() }

// PackOf parses the pack from the name of a source, and reports whether it is a pack's.
func PackOf(source string) (PackID, bool) {
	name, ok := strings.CutPrefix(source, sourcePackPrefix)
	if !ok {
		return PackID{}, false
	}
	id, err := ParsePackID(name)
	return id, err == nil
}

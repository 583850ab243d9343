package pg

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// MaxPage bounds what one list query returns.
const MaxPage = 10_000

// PeriodLayout is the format of a period's start date in usage lines.
const PeriodLayout = time.DateOnly

// UTCOrZero converts a nullable time; null becomes the zero time.
func UTCOrZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

// NullableTime is the inverse of UTCOrZero.
func NullableTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// NullableID converts an id for a nullable column; the zero id becomes null.
func NullableID(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}

// IDOrZero is the inverse of NullableID.
func IDOrZero(id *uuid.UUID) uuid.UUID {
	if id == nil {
		return uuid.Nil
	}
	return *id
}

// JSON returns v as JSON. A []byte is JSON already.
func JSON(v any) []byte {
	if done, ok := v.([]byte); ok {
		return done
	}
	text, err := json.Marshal(v)
	if err != nil { // cannot happen: maps and structs of plain values
		panic(err)
	}
	return text
}

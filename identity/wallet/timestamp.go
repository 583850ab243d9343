package wallet

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// Timestamp is a date-time of RFC 3339 as it was written, so that a message renders as it was
// signed. The zero value means none.
type Timestamp struct{ text string }

// TimestampOf formats an instant in UTC, truncated to milliseconds.
func TimestampOf(t time.Time) Timestamp {
	return Timestamp{t.UTC().Format("2006-01-02T15:04:05.000Z")}
}

// ParseTimestamp parses a date-time of RFC 3339, section 5.6: T and Z in either case, any number of
// decimals, a leap second where one may be.
func ParseTimestamp(s string) (Timestamp, error) {
	if _, ok := parseDateTime(s); !ok {
		return Timestamp{}, fmt.Errorf("not a date-time of RFC 3339: %d characters", len(s))
	}
	return Timestamp{s}, nil
}

// Time returns the instant; a leap second is the second after it. The zero value returns the zero
// time.
func (t Timestamp) Time() time.Time {
	at, _ := parseDateTime(t.text)
	return at
}

// IsZero reports whether there is none.
func (t Timestamp) IsZero() bool { return t.text == "" }

// String returns the text as it was written.
func (t Timestamp) String() string { return t.text }

// MarshalText returns String.
func (t Timestamp) MarshalText() ([]byte, error) { return []byte(t.text), nil }

// UnmarshalText parses as ParseTimestamp does; an empty text means none.
func (t *Timestamp) UnmarshalText(text []byte) error {
	*t = Timestamp{}
	if len(text) == 0 {
		return nil
	}
	parsed, err := ParseTimestamp(string(text))
	*t = parsed
	return err
}

var dateTime = regexp.MustCompile(
	`^([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?(?:[Zz]|([+-])([0-9]{2}` +
		`):([0-9]{2}))$`)

const maxTimestamp = 64

func parseDateTime(s string) (time.Time, bool) {
	if len(s) > maxTimestamp {
		return time.Time{}, false
	}
	part := dateTime.FindStringSubmatch(s)
	if part == nil {
		return time.Time{}, false
	}
	n := func(i int) int {
		v, _ := strconv.Atoi(part[i]) // digits, or nothing
		return v
	}
	year, month, day, hour, minute, second := n(1), time.Month(n(2)), n(3), n(4), n(5), n(6)
	offset := n(9)*60 + n(10)
	if n(9) > 23 || n(10) > 59 || hour > 23 || minute > 59 || second > 60 {
		return time.Time{}, false
	}
	if part[8] == "-" {
		offset = -offset
	}
	nanos, _ := strconv.Atoi((part[7] + "000000000")[:9])
	if date := time.Date(year, month, day, 0, 0, 0, 0, time.UTC); date.Month() != month || date.Day() != day {
		return time.Time{}, false
	}
	at := time.Date(year, month, day, hour, minute-offset, second, nanos, time.UTC)
	// RFC 3339, section 5.7: a minute has a 60th second at the end of a month in UTC only.
	if second == 60 && (at.Day() != 1 || at.Hour() != 0 || at.Minute() != 0) {
		return time.Time{}, false
	}
	return at, true
}

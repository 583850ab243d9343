// Package expect holds assertions of one fact each. A failure names the fact as the test's source
// has it, and says what was got and what was wanted; structs are printed as a diff.
//
// Assertions report a failure and go on, so one run shows every wrong fact. Package require has the
// same assertions for facts that the rest of the test depends on: it ends the test. The values
// after an assertion's own arguments explain a failure: they are printed with their names.
package expect

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// In returns t with a text in front of what it reports, for example the name of a table's case.
func In(t testing.TB, format string, args ...any) testing.TB {
	t.Helper()
	return place{t, fmt.Sprintf(format, args...)}
}

// place is a test whose reports say where they belong.
type place struct {
	testing.TB
	name string
}

// Errorf reports a failure with the name of the place in front.
func (p place) Errorf(format string, args ...any) {
	p.Helper()
	p.TB.Errorf("%s: %s", p.name, fmt.Sprintf(format, args...))
}

// Fatalf reports a failure with the name of the place in front, and ends the test.
func (p place) Fatalf(format string, args ...any) {
	p.Helper()
	p.TB.Fatalf("%s: %s", p.name, fmt.Sprintf(format, args...))
}

// Equal reports a failure unless got == want.
func Equal[T comparable](t testing.TB, got, want T, with ...any) {
	t.Helper()
	if got == want {
		return
	}
	if value := reflect.ValueOf(got); value.IsValid() && value.Kind() == reflect.Struct && !printable(got) {
		all := gocmp.Exporter(func(reflect.Type) bool { return true })
		if diff := gocmp.Diff(want, got, all); diff != "" {
			failf(t, 3, with, "%s differs (-want +got):\n%s", diff)
			return
		}
	}
	failf(t, 3, with, "%s = %s, want %s", show(got), show(want))
}

// NotEqual reports a failure if got == unwanted.
func NotEqual[T comparable](t testing.TB, got, unwanted T, with ...any) {
	t.Helper()
	if got == unwanted {
		failf(t, 3, with, "%s = %s, want another value", show(got))
	}
}

// EqualSlices reports a failure unless two slices have the same elements.
func EqualSlices[S ~[]E, E comparable](t testing.TB, got, want S, with ...any) {
	t.Helper()
	if !slices.Equal(got, want) {
		failf(t, 3, with, "%s = %s, want %s", show(got), show(want))
	}
}

// EqualMaps reports a failure unless two maps have the same entries.
func EqualMaps[M ~map[K]V, K, V comparable](t testing.TB, got, want M, with ...any) {
	t.Helper()
	if !maps.Equal(got, want) {
		failf(t, 3, with, "%s = %s, want %s", show(got), show(want))
	}
}

// True reports a failure unless a condition holds.
func True(t testing.TB, got bool, with ...any) {
	t.Helper()
	if !got {
		failf(t, 2, with, "%s = false, want true")
	}
}

// False reports a failure if a condition holds.
func False(t testing.TB, got bool, with ...any) {
	t.Helper()
	if got {
		failf(t, 2, with, "%s = true, want false")
	}
}

// Contains reports a failure unless a text has a part.
func Contains(t testing.TB, got, part string, with ...any) {
	t.Helper()
	if !strings.Contains(got, part) {
		failf(t, 3, with, "%s lacks %q: %s", part, got)
	}
}

// NotContains reports a failure if a text has a part.
func NotContains(t testing.TB, got, part string, with ...any) {
	t.Helper()
	if strings.Contains(got, part) {
		failf(t, 3, with, "%s has %q: %s", part, got)
	}
}

// HasPrefix reports a failure unless a text begins with a prefix.
func HasPrefix(t testing.TB, got, prefix string, with ...any) {
	t.Helper()
	if !strings.HasPrefix(got, prefix) {
		failf(t, 3, with, "%s = %q, want the prefix %q", got, prefix)
	}
}

// HasSuffix reports a failure unless a text ends with a suffix.
func HasSuffix(t testing.TB, got, suffix string, with ...any) {
	t.Helper()
	if !strings.HasSuffix(got, suffix) {
		failf(t, 3, with, "%s = %q, want the suffix %q", got, suffix)
	}
}

// NoError reports a failure if err is not nil.
func NoError(t testing.TB, err error, with ...any) {
	t.Helper()
	if err != nil {
		failf(t, 2, with, "%s: %v", err)
	}
}

// Error reports a failure if err is nil.
func Error(t testing.TB, err error, with ...any) {
	t.Helper()
	if err == nil {
		failf(t, 2, with, "%s = nil, want an error")
	}
}

// ErrorIs reports a failure unless an error is or wraps another.
func ErrorIs(t testing.TB, got, want error, with ...any) {
	t.Helper()
	if !errors.Is(got, want) {
		failf(t, 3, with, "%s = %s, want %s", show(got), show(want))
	}
}

// Nil reports a failure unless got is nil.
func Nil(t testing.TB, got any, with ...any) {
	t.Helper()
	if !isNil(got) {
		failf(t, 2, with, "%s = %s, want nil", show(got))
	}
}

// NotNil reports a failure if got is nil.
func NotNil(t testing.TB, got any, with ...any) {
	t.Helper()
	if isNil(got) {
		failf(t, 2, with, "%s = nil, want a value")
	}
}

// Len reports a failure unless a slice, map or string has a length.
func Len(t testing.TB, got any, want int, with ...any) {
	t.Helper()
	n, ok := length(got)
	if !ok {
		failf(t, 3, with, "%s = %s, want a slice, map or string of length %d", show(got), want)
		return
	}
	if n != want {
		failf(t, 3, with, "%s has length %d, want %d: %s", n, want, show(got))
	}
}

// Empty reports a failure unless a slice, map or string is empty.
func Empty(t testing.TB, got any, with ...any) {
	t.Helper()
	n, ok := length(got)
	if !ok {
		failf(t, 2, with, "%s = %s, want an empty slice, map or string", show(got))
		return
	}
	if n != 0 {
		failf(t, 2, with, "%s has length %d, want none: %s", n, show(got))
	}
}

// NotEmpty reports a failure if a slice, map or string is empty.
func NotEmpty(t testing.TB, got any, with ...any) {
	t.Helper()
	n, ok := length(got)
	if !ok {
		failf(t, 2, with, "%s = %s, want a slice, map or string", show(got))
		return
	}
	if n == 0 {
		failf(t, 2, with, "%s is empty")
	}
}

// length returns the length of a slice, map or string, and reports whether value is one. An untyped
// nil is none.
func length(value any) (n int, ok bool) {
	v := reflect.ValueOf(value)
	switch v.Kind() {
	case reflect.Array, reflect.Chan, reflect.Map, reflect.Slice, reflect.String:
		return v.Len(), true
	default:
		return 0, false
	}
}

// AtLeast reports a failure if got < bound.
func AtLeast[T cmp.Ordered](t testing.TB, got, bound T, with ...any) {
	t.Helper()
	if got < bound {
		failf(t, 3, with, "%s = %s, want at least %s", show(got), show(bound))
	}
}

// AtMost reports a failure if got > bound.
func AtMost[T cmp.Ordered](t testing.TB, got, bound T, with ...any) {
	t.Helper()
	if got > bound {
		failf(t, 3, with, "%s = %s, want at most %s", show(got), show(bound))
	}
}

// Greater reports a failure if got <= bound.
func Greater[T cmp.Ordered](t testing.TB, got, bound T, with ...any) {
	t.Helper()
	if got <= bound {
		failf(t, 3, with, "%s = %s, want more than %s", show(got), show(bound))
	}
}

// Less reports a failure if got >= bound.
func Less[T cmp.Ordered](t testing.TB, got, bound T, with ...any) {
	t.Helper()
	if got >= bound {
		failf(t, 3, with, "%s = %s, want less than %s", show(got), show(bound))
	}
}

// Between reports a failure if got < low or got > high.
func Between[T cmp.Ordered](t testing.TB, got, low, high T, with ...any) {
	t.Helper()
	if got < low || got > high {
		failf(t, 4, with, "%s = %s, want %s to %s", show(got), show(low), show(high))
	}
}

// Package require holds the assertions of package expect for facts that the rest of a test depends
// on: a failure ends the test. Use it in the test's own goroutine only.
package require

import (
	"cmp"
	"testing"

	"github.com/chainaccess/gateway/internal/testkit/expect"
)

// fatal is a test that every report of a failure ends.
type fatal struct{ testing.TB }

// Errorf reports a failure and ends the test.
func (f fatal) Errorf(format string, args ...any) {
	f.Helper()
	f.Fatalf(format, args...)
}

// Equal ends the test unless got == want.
func Equal[T comparable](t testing.TB, got, want T, with ...any) {
	t.Helper()
	expect.Equal(fatal{t}, got, want, with...)
}

// NotEqual ends the test if got == unwanted.
func NotEqual[T comparable](t testing.TB, got, unwanted T, with ...any) {
	t.Helper()
	expect.NotEqual(fatal{t}, got, unwanted, with...)
}

// EqualSlices ends the test unless two slices have the same elements.
func EqualSlices[S ~[]E, E comparable](t testing.TB, got, want S, with ...any) {
	t.Helper()
	expect.EqualSlices(fatal{t}, got, want, with...)
}

// EqualMaps ends the test unless two maps have the same entries.
func EqualMaps[M ~map[K]V, K, V comparable](t testing.TB, got, want M, with ...any) {
	t.Helper()
	expect.EqualMaps(fatal{t}, got, want, with...)
}

// True ends the test unless a condition holds.
func True(t testing.TB, got bool, with ...any) {
	t.Helper()
	expect.True(fatal{t}, got, with...)
}

// False ends the test if a condition holds.
func False(t testing.TB, got bool, with ...any) {
	t.Helper()
	expect.False(fatal{t}, got, with...)
}

// Contains ends the test unless a text has a part.
func Contains(t testing.TB, got, part string, with ...any) {
	t.Helper()
	expect.Contains(fatal{t}, got, part, with...)
}

// NotContains ends the test if a text has a part.
func NotContains(t testing.TB, got, part string, with ...any) {
	t.Helper()
	expect.NotContains(fatal{t}, got, part, with...)
}

// HasPrefix ends the test unless a text begins with a prefix.
func HasPrefix(t testing.TB, got, prefix string, with ...any) {
	t.Helper()
	expect.HasPrefix(fatal{t}, got, prefix, with...)
}

// HasSuffix ends the test unless a text ends with a suffix.
func HasSuffix(t testing.TB, got, suffix string, with ...any) {
	t.Helper()
	expect.HasSuffix(fatal{t}, got, suffix, with...)
}

// NoError ends the test if err is not nil.
func NoError(t testing.TB, err error, with ...any) {
	t.Helper()
	expect.NoError(fatal{t}, err, with...)
}

// Error ends the test if err is nil.
func Error(t testing.TB, err error, with ...any) {
	t.Helper()
	expect.Error(fatal{t}, err, with...)
}

// ErrorIs ends the test unless an error is or wraps another.
func ErrorIs(t testing.TB, got, want error, with ...any) {
	t.Helper()
	expect.ErrorIs(fatal{t}, got, want, with...)
}

// Nil ends the test unless got is nil.
func Nil(t testing.TB, got any, with ...any) {
	t.Helper()
	expect.Nil(fatal{t}, got, with...)
}

// NotNil ends the test if got is nil.
func NotNil(t testing.TB, got any, with ...any) {
	t.Helper()
	expect.NotNil(fatal{t}, got, with...)
}

// Len ends the test unless a slice, map or string has a length.
func Len(t testing.TB, got any, want int, with ...any) {
	t.Helper()
	expect.Len(fatal{t}, got, want, with...)
}

// Empty ends the test unless a slice, map or string is empty.
func Empty(t testing.TB, got any, with ...any) {
	t.Helper()
	expect.Empty(fatal{t}, got, with...)
}

// NotEmpty ends the test if a slice, map or string is empty.
func NotEmpty(t testing.TB, got any, with ...any) {
	t.Helper()
	expect.NotEmpty(fatal{t}, got, with...)
}

// AtLeast ends the test if got < bound.
func AtLeast[T cmp.Ordered](t testing.TB, got, bound T, with ...any) {
	t.Helper()
	expect.AtLeast(fatal{t}, got, bound, with...)
}

// AtMost ends the test if got > bound.
func AtMost[T cmp.Ordered](t testing.TB, got, bound T, with ...any) {
	t.Helper()
	expect.AtMost(fatal{t}, got, bound, with...)
}

// Greater ends the test if got <= bound.
func Greater[T cmp.Ordered](t testing.TB, got, bound T, with ...any) {
	t.Helper()
	expect.Greater(fatal{t}, got, bound, with...)
}

// Less ends the test if got >= bound.
func Less[T cmp.Ordered](t testing.TB, got, bound T, with ...any) {
	t.Helper()
	expect.Less(fatal{t}, got, bound, with...)
}

// Between ends the test if got < low or got > high.
func Between[T cmp.Ordered](t testing.TB, got, low, high T, with ...any) {
	t.Helper()
	expect.Between(fatal{t}, got, low, high, with...)
}

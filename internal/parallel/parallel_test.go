package parallel_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/parallel"
	"github.com/chainaccess/gateway/internal/testkit/expect"
)

// panicOf returns the value with which f panics.
func panicOf(t *testing.T, f func() error) (p *parallel.PanicError) {
	t.Helper()
	defer func() {
		cause := recover()
		var ok bool
		if p, ok = cause.(*parallel.PanicError); !ok {
			t.Errorf("it panics with %v", cause)
		}
	}()
	t.Errorf("it gives %v", f())
	return nil
}

func broken() error { panic("broken") }

// A panic must not be lost, which could send a partial answer, and must not end the process.
func TestDo_PanicEndsTheOthersAndReachesTheCaller(t *testing.T) {
	t.Parallel()
	group, ctx := parallel.WithContext(t.Context())
	group.Go(func() error { <-ctx.Done(); return ctx.Err() })
	group.Go(broken)
	p := panicOf(t, group.Wait)
	if p == nil {
		return
	}
	expect.Equal[any](t, p.Cause, "broken")
	expect.Equal(t, p.Error(), "broken")
	expect.Contains(t, string(p.Stack), "parallel_test.broken")
	var lines bytes.Buffer
	slog.New(slog.NewTextHandler(&lines, nil)).Error("panic", "cause", any(p))
	if said := lines.String(); !strings.Contains(said, "cause.panic=broken") ||
		!strings.Contains(said, "parallel_test.broken") {
		t.Errorf("the log does not tell where it panicked: %s", said)
	}
}

// In nested groups, the stack is that of the innermost function, not of the functions that waited.
func TestDo_PanicKeepsItsPlaceThroughGroups(t *testing.T) {
	t.Parallel()
	var outer parallel.Group
	outer.Go(func() error {
		var inner parallel.Group
		inner.Go(broken)
		return inner.Wait()
	})
	if p := panicOf(t, outer.Wait); p != nil &&
		(p.Cause != "broken" || !strings.Contains(string(p.Stack), "parallel_test.broken")) {
		t.Errorf("it says %v at %s", p.Cause, p.Stack)
	}
}

func TestDo_ReturnsTheFirstFailure(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	group, ctx := parallel.WithContext(t.Context())
	group.SetLimit(2)
	group.Go(func() error { <-ctx.Done(); return ctx.Err() })
	group.Go(func() error { return failed })
	group.Go(func() error { return nil })
	if err := group.Wait(); !errors.Is(err, failed) || !errors.Is(ctx.Err(), context.Canceled) {
		t.Errorf("it gives %v, the context %v", err, ctx.Err())
	}
}

// The first error cancels the other reads and is returned.
func TestDo_EndsWithTheFirstThatFails(t *testing.T) {
	t.Parallel()
	failed := errors.New("the record is away")
	begun := make(chan struct{})
	err := parallel.Do(t.Context(), 2,
		func(ctx context.Context) error { close(begun); <-ctx.Done(); return ctx.Err() },
		func(context.Context) error { <-begun; return failed }, // would deadlock if run after the other
	)
	if !errors.Is(err, failed) {
		t.Errorf("error is %v", err)
	}
}

// A panic in a goroutine that nobody recovers would end the process.
func TestDo_PanicsAsAFunctionDid(t *testing.T) {
	t.Parallel()
	defer func() {
		if cause, ok := recover().(*parallel.PanicError); !ok || cause.Cause != "broken" {
			t.Errorf("it panics with %v", cause)
		}
	}()
	_ = parallel.Do(t.Context(), 2, func(context.Context) error {
		panic("broken")
	}, func(context.Context) error { return nil })
	t.Error("the panic is lost")
}

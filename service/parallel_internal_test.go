package service

import (
	"context"
	"errors"
	"testing"

	"github.com/chainaccess/gateway/internal/parallel"
)

// The first error cancels the other reads and is returned.
func TestReadsAtOnceEndWithTheFirstThatFails(t *testing.T) {
	t.Parallel()
	failed := errors.New("the record is away")
	begun := make(chan struct{})
	err := inParallel(t.Context(),
		func(ctx context.Context) error { close(begun); <-ctx.Done(); return ctx.Err() },
		func(context.Context) error { <-begun; return failed }, // would deadlock if run after the other
	)
	if !errors.Is(err, failed) {
		t.Errorf("it tells %v", err)
	}
}

// A panic in a goroutine that nobody recovers would end the process.
func TestAPanicOfAReadIsWhoseTheReadIs(t *testing.T) {
	t.Parallel()
	defer func() {
		if cause, ok := recover().(*parallel.PanicError); !ok || cause.Cause != "broken" {
			t.Errorf("it panics with %v", cause)
		}
	}()
	_ = inParallel(t.Context(), func(context.Context) error {
		panic("broken")
	}, func(context.Context) error { return nil })
	t.Error("the panic is lost")
}

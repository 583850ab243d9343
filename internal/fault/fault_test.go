package fault_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

func TestNew_TakesTheTablesMeaningWithoutAFormat(t *testing.T) {
	t.Parallel()
	for _, e := range fault.Table() {
		err := fault.New(e.Reason, "")
		in := expect.In(t, "%s", e.Name)
		expect.Equal(in, err.Message, e.Meaning)
		expect.Equal(in, err.Code(), e.Code)
		expect.Equal(in, err.HTTP(), e.HTTP)
		expect.Equal(in, err.Reason, e.Reason)
	}
	if got := fault.New(fault.RangeTooLarge, "at most %d", 1000).Message; got != "at most 1000" {
		t.Errorf("formatted message is %q", got)
	}
}

func TestFrom_KeepsRefusalsAndHidesEverythingElse(t *testing.T) {
	t.Parallel()
	if got := fault.From(nil); got != nil {
		t.Errorf("nil becomes %v", got)
	}
	refusal := fault.New(fault.PlanQuota, "")
	if got := fault.From(refusal); got != refusal {
		t.Errorf("a refusal becomes %v", got)
	}
	if got := fault.From(fmt.Errorf("admit: %w", fmt.Errorf("meter: %w", refusal))); got != refusal {
		t.Errorf("a wrapped refusal becomes %v", got)
	}
	if got := fault.From(errors.Join(io.EOF, refusal)); got != refusal {
		t.Errorf("a joined refusal becomes %v", got)
	}
	const inner = "dial db-7.internal: refused"
	cause := errors.New(inner)
	got := fault.From(cause)
	in := expect.In(t, "an unexpected error")
	expect.Equal(in, got.Reason, fault.InternalFault)
	expect.Equal(in, got.HTTP(), 500)
	expect.Equal(in, got.Code(), -32603)
	expect.NotContains(t, got.Message, inner)
	expect.Equal(t, got.Message, fault.InternalFault.Entry().Meaning)
	expect.Empty(t, got.Data)
	if !errors.Is(got, cause) || !strings.Contains(got.Error(), inner) {
		t.Error("the cause is lost to the log")
	}
}

func TestError_WithAndWrapLeaveTheOriginalAlone(t *testing.T) {
	t.Parallel()
	original := fault.New(fault.RateWindow, "wait")
	original.RetryAfter = time.Second
	original.Window = &fault.Window{Limit: 5, Reset: time.Second}
	first := original.With("a", 1)
	second := first.With("b", 2)
	third := first.With("a", 3)
	in := expect.In(t, "data")
	expect.Empty(in, original.Data)
	expect.Len(in, first.Data, 1)
	expect.Equal[any](in, first.Data["a"], 1)
	expect.Len(in, second.Data, 2)
	expect.Equal[any](in, third.Data["a"], 3)
	wrapped := second.Wrap(context.DeadlineExceeded)
	in = expect.In(t, "a cause reached the original, or not the copy")
	require.NoError(in, second.Cause)
	expect.ErrorIs(in, wrapped, context.DeadlineExceeded)
	expect.False(in, errors.Is(second, context.DeadlineExceeded))
	for _, e := range []*fault.Error{first, second, third, wrapped} {
		in := expect.In(t, "the copy lost something")
		expect.Equal(in, e.Reason, fault.RateWindow)
		expect.Equal(in, e.Message, "wait")
		expect.Equal(in, e.RetryAfter, time.Second)
		require.NotNil(in, e.Window)
		expect.Equal(in, e.Window.Limit, 5)
	}
	if wrapped.With("c", 3).Cause == nil {
		t.Error("With loses the cause")
	}
}

func TestError_NamesReasonMessageAndCauseForTheLog(t *testing.T) {
	t.Parallel()
	e := fault.New(fault.UpstreamFailed, "retry")
	if e.Error() != "upstream_failed: retry" || e.Unwrap() != nil {
		t.Errorf("%v", e)
	}
	if got := e.Wrap(io.EOF).Error(); got != "upstream_failed: retry: EOF" {
		t.Errorf("%s", got)
	}
}

func TestTable_IsACopy(t *testing.T) {
	t.Parallel()
	fault.Table()[0].Code = 1
	if fault.Table()[0].Code == 1 {
		t.Error("a caller can change the table")
	}
}

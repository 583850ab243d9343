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
)

func TestNew_TakesTheTablesMeaningWithoutAFormat(t *testing.T) {
	t.Parallel()
	for _, e := range fault.Table() {
		err := fault.New(e.Reason, "")
		if err.Message != e.Meaning || err.Code() != e.Code || err.HTTP() != e.HTTP || err.Reason != e.Reason {
			t.Errorf("%s: %+v", e.Name, err)
		}
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
	if got.Reason != fault.InternalFault || got.HTTP() != 500 || got.Code() != -32603 {
		t.Errorf("an unexpected error becomes %+v", got)
	}
	if strings.Contains(got.Message, inner) || got.Message != fault.InternalFault.Entry().Meaning ||
		len(got.Data) != 0 {
		t.Errorf("the cause shows: %q %v", got.Message, got.Data)
	}
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
	if len(original.Data) != 0 || len(first.Data) != 1 || first.Data["a"] != 1 || len(second.Data) != 2 ||
		third.Data["a"] != 3 {
		t.Errorf("data: %v, %v, %v, %v", original.Data, first.Data, second.Data, third.Data)
	}
	wrapped := second.Wrap(context.DeadlineExceeded)
	if second.Cause != nil || !errors.Is(wrapped, context.DeadlineExceeded) ||
		errors.Is(second, context.DeadlineExceeded) {
		t.Error("a cause reached the original, or not the copy")
	}
	for _, e := range []*fault.Error{first, second, third, wrapped} {
		if e.Reason != fault.RateWindow || e.Message != "wait" || e.RetryAfter != time.Second || e.Window == nil ||
			e.Window.Limit != 5 {
			t.Errorf("the copy lost something: %+v", e)
		}
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

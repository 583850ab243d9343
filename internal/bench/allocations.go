package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
)

const allocationsName = "allocations_per_call"

var (
	allocationsBar = bar{atMost, 60, 0}
	allocationLine = regexp.MustCompile(`(?m)^BenchmarkRelayedCall\S*\s.*?([0-9.]+) B/op\s+([0-9.]+) allocs/op`)
)

// measureAllocations runs the Go benchmark of a relayed call.
func measureAllocations(ctx context.Context, r *rig, _ options, report *report) error {
	if err := r.stopGateway(ctx); err != nil {
		return err
	}
	report.sayf("%s: go test -bench BenchmarkRelayedCall ./cmd/internal/wire", allocationsName)
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^BenchmarkRelayedCall$", "-benchtime",
		"20000x", "-count", "1", "./cmd/internal/wire")
	text, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, text)
	}
	m := allocationLine.FindSubmatch(text)
	if m == nil {
		return fmt.Errorf("go test printed something unexpected: %s", text)
	}
	size, sizeErr := strconv.ParseFloat(string(m[1]), 64)
	count, countErr := strconv.ParseFloat(string(m[2]), 64)
	if err := errors.Join(sizeErr, countErr); err != nil {
		return err
	}
	report.sayf("%.0f bytes in them", size)
	report.add(result{allocationsName, "value", count, 0, allocationsBar})
	return nil
}

// Package parallel runs functions side by side and waits for all of them. A panic of one is a panic
// of whoever waits, who answers it as a failure of its own: in a goroutine that nobody looks after
// it would end the process and with it everybody else's calls. It knows nothing of what the
// functions do, and is not for loops that live as long as their process.
package parallel

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Group is an errgroup.Group that hands panics on. WithContext makes one; the zero Group does, too,
// and calls nothing off.
type Group struct {
	group    errgroup.Group
	within   *errgroup.Group // of WithContext; nil means group
	panicked atomic.Pointer[PanicError]
}

// WithContext returns a Group, and a context that ends with the first function that fails or
// panics, or when Wait returns.
func WithContext(ctx context.Context) (*Group, context.Context) {
	within, ctx := errgroup.WithContext(ctx)
	return &Group{within: within}, ctx
}

func (g *Group) errgroup() *errgroup.Group {
	if g.within != nil {
		return g.within
	}
	return &g.group
}

// SetLimit bounds how many functions run at a time; Go waits for a place. It must be called before
// Go.
func (g *Group) SetLimit(n int) { g.errgroup().SetLimit(n) }

// Go runs a function in a goroutine of its own.
func (g *Group) Go(f func() error) {
	g.errgroup().Go(func() (err error) {
		defer func() {
			if cause := recover(); cause != nil {
				p := caught(cause)
				g.panicked.CompareAndSwap(nil, p)
				err = p // which ends the context
			}
		}()
		return f()
	})
}

// Wait waits for all functions and gives the error of the first that failed. If one panicked, it
// panics with the first *PanicError.
func (g *Group) Wait() error {
	err := g.errgroup().Wait()
	if p := g.panicked.Load(); p != nil {
		panic(p)
	}
	return err
}

// PanicError is what a function panicked with, and where. In a log it is both; its text is only
// what it panicked with.
type PanicError struct {
	Cause any
	Stack []byte // of the function's goroutine
}

var (
	_ error          = (*PanicError)(nil)
	_ slog.LogValuer = (*PanicError)(nil)
)

// caught is called in the deferred function that recovered. What was handed on before keeps the
// place that it came from.
func caught(cause any) *PanicError {
	if p, ok := cause.(*PanicError); ok {
		return p
	}
	return &PanicError{cause, debug.Stack()}
}

func (p *PanicError) Error() string { return fmt.Sprint(p.Cause) }

// LogValue has the stack in the log, which whoever recovers at last does not see.
func (p *PanicError) LogValue() slog.Value {
	return slog.GroupValue(slog.String("panic", p.Error()), slog.String("stack", string(p.Stack)))
}

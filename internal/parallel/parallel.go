// Package parallel runs functions concurrently and waits for all of them. A panic in one of them
// becomes a panic in the goroutine that waits, which can recover it; in a goroutine without
// recovery it would end the process and with it all other calls. The package is not for loops that
// run as long as their process.
package parallel

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Group is an errgroup.Group that propagates panics. The zero Group is usable and cancels nothing;
// WithContext returns one that cancels.
type Group struct {
	group    errgroup.Group
	within   *errgroup.Group // of WithContext; nil means group
	panicked atomic.Pointer[PanicError]
}

// WithContext returns a Group, and a context that is cancelled when a function fails or panics, or
// when Wait returns.
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

// Do runs independent functions concurrently, at most limit at a time. It returns the first error
// and cancels the others. If one panicked, it panics with the first *PanicError.
func Do(ctx context.Context, limit int, functions ...func(context.Context) error) error {
	group, ctx := WithContext(ctx)
	group.SetLimit(limit)
	for _, f := range functions {
		group.Go(func() error { return f(ctx) })
	}
	return group.Wait()
}

// SetLimit bounds how many functions run at a time; Go blocks at the limit. It must be called
// before Go.
func (g *Group) SetLimit(n int) { g.errgroup().SetLimit(n) }

// Go runs a function in a new goroutine.
func (g *Group) Go(f func() error) {
	g.errgroup().Go(func() (err error) {
		defer func() {
			if cause := recover(); cause != nil {
				p := caught(cause)
				g.panicked.CompareAndSwap(nil, p)
				err = p // cancels the context
			}
		}()
		return f()
	})
}

// Wait waits for all functions and returns the error of the first that failed. If one panicked, it
// panics with the first *PanicError.
func (g *Group) Wait() error {
	err := g.errgroup().Wait()
	if p := g.panicked.Load(); p != nil {
		panic(p)
	}
	return err
}

// PanicError is the value and the stack of a function's panic. Its text contains only the value; in
// a log it shows both.
type PanicError struct {
	Cause any
	Stack []byte // of the function's goroutine
}

var (
	_ error          = (*PanicError)(nil)
	_ slog.LogValuer = (*PanicError)(nil)
)

// caught is called in the deferred function that recovered. A panic that was propagated before
// keeps its original stack.
func caught(cause any) *PanicError {
	if p, ok := cause.(*PanicError); ok {
		return p
	}
	return &PanicError{cause, debug.Stack()}
}

func (p *PanicError) Error() string { return fmt.Sprint(p.Cause) }

// LogValue adds the stack to the log, since it differs from that of the goroutine that recovers.
func (p *PanicError) LogValue() slog.Value {
	return slog.GroupValue(slog.String("panic", p.Error()), slog.String("stack", string(p.Stack)))
}

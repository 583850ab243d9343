// Command bench measures the gateway against nginx on one machine, in one run: the same load, by wrk, on the same local upstream.
// What counts is the ratio of a run; the figures alone say more about the machine. bench/README.md explains how to read it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	duration    time.Duration
	rounds      int
	connections int
	profile     string
}

func run(ctx context.Context, args []string, out, progress io.Writer) error {
	if len(args) > 0 && args[0] == "upstream" {
		return serveUpstream(ctx, out)
	}
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.DurationVar(&o.duration, "duration", 5*time.Second, "length of one measurement")
	flags.IntVar(&o.rounds, "rounds", 3, "measurements of each side; the median counts")
	flags.IntVar(&o.connections, "connections", 32, "connections that wrk keeps open")
	flags.StringVar(&o.profile, "profile", "", "write a CPU profile of the gateway under load to this file, and its allocations beside it")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.rounds < 1 || o.connections < 1 || o.duration < time.Second {
		return errors.New("give at least one round, one connection and one second")
	}
	rig, err := startRig(ctx, progress)
	if err != nil {
		return err
	}
	err = rig.measure(ctx, o, out, progress)
	return errors.Join(err, rig.close(ctx))
}

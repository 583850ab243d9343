// Command bench measures the costs of the gateway on one machine in one run: against nginx with the
// same upstream and load, its memory, its allocations, and what a client sees when an upstream
// dies. The ratios are meaningful; absolute figures depend on the machine. internal/bench/README.md
// explains the output.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/chainaccess/gateway/internal/bench/node"
)

// nodeCommand makes this program run as a node: bench node ADDRESS.
const nodeCommand = "node"

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
	duration      time.Duration
	rounds        int
	connections   int
	accounts      int
	keys          int
	buckets       int
	subscriptions int
	only          string
	list          bool
	strict        bool
	record        bool
	chart         string
	profile       string
}

const usage = `usage: bench [flags]        (make bench ARGS="…")

Prints one line per comparison: its name, key=value, and the bar with met=yes or met=no where there is one.
`

func parse(args []string, progress io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(progress)
	flags.Usage = func() {
		fmt.Fprint(progress, usage+"\n")
		flags.PrintDefaults()
	}
	flags.StringVar(&o.only, "only", "", "measure these only, by name, separated by commas")
	flags.BoolVar(&o.list, "list", false, "list what is measured, and measure nothing")
	flags.DurationVar(&o.duration, "duration", 5*time.Second, "length of one round of a load, in whole seconds")
	flags.IntVar(&o.rounds, "rounds", 3, "rounds of each side of a load, and kills of an upstream")
	flags.IntVar(&o.connections, "connections", 32, "connections that a load keeps open")
	flags.IntVar(&o.accounts, "accounts", wholeAccounts,
		"accounts among which the idle keys are shared; the bar is for no fewer than this")
	flags.IntVar(&o.keys, "keys", wholeKeys,
		"idle keys, as many for each account as for the others; the bar is for no fewer than this")
	flags.IntVar(&o.subscriptions, "subscriptions", wholeSubscriptions,
		"subscriptions whose period ends; the bar is for no fewer than this")
	flags.IntVar(&o.buckets, "buckets", wholeBuckets, "accounts with usage to flush; the bar is for no fewer than this")
	flags.BoolVar(&o.strict, "strict", false, "end with exit code 1 when a bar is not met")
	flags.BoolVar(&o.record, "record", false,
		"add a line to internal/bench/results.md and draw internal/bench/results.svg; run it on a quiet machine")
	flags.StringVar(&o.chart, "chart", "", "draw the results to this SVG file")
	flags.StringVar(&o.profile, "profile", "",
		"write a CPU profile of the gateway under each load to FILE.<load>, and its allocations beside it")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("%q is no flag; --help lists them", flags.Arg(0))
	case o.rounds < 1 || o.connections < 1 || o.duration < time.Second || o.duration%time.Second != 0:
		return o, errors.New("give at least one round, one connection and one whole second")
	case o.accounts < 1 || o.keys < o.accounts || o.buckets < 1 || o.subscriptions < 1:
		return o, errors.New("give at least one account, a key for each, and one account with usage")
	case o.record && (o.accounts < wholeAccounts || o.keys < wholeKeys || o.buckets < wholeBuckets ||
		o.subscriptions < wholeSubscriptions):
		return o, errors.New(
			"--record needs the whole sizes: leave --accounts, --keys, --buckets and --subscriptions out")
	case o.profile != "" && o.duration < 2*time.Second:
		return o, errors.New("a profile needs a --duration of two seconds or more")
	case o.record && o.only != "":
		return o, errors.New("--record needs a whole run: leave --only out")
	}
	return o, nil
}

func run(ctx context.Context, args []string, out, progress io.Writer) error {
	if len(args) > 1 && args[0] == nodeCommand {
		return node.Serve(ctx, args[1])
	}
	o, err := parse(args, progress)
	if err != nil {
		return err
	}
	chosen, err := choose(measurements(), o.only)
	if err != nil {
		return err
	}
	if o.list {
		for _, m := range chosen {
			fmt.Fprintf(out, "%-26s %s\n", m.name, m.about)
		}
		return nil
	}
	report := &report{out: out, progress: progress}
	if err := measure(ctx, chosen, o, report); err != nil {
		return err
	}
	if err := report.keep(o, time.Now()); err != nil {
		return err
	}
	if unmet := report.unmet(); o.strict && len(unmet) > 0 {
		return fmt.Errorf("not met: %s", strings.Join(unmet, ", "))
	}
	return nil
}

// measure takes the measurements in turn. It continues after one that fails.
func measure(ctx context.Context, chosen []measurement, o options, report *report) error {
	rig := &rig{progress: report.progress, keys: map[string][]string{}}
	var failed []error
	for _, m := range chosen {
		err := m.run(ctx, rig, o, report)
		if ctx.Err() != nil {
			failed = []error{ctx.Err()}
			break
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", m.name, err)
			failed = append(failed, err)
			report.sayf("%v", err)
		}
	}
	return errors.Join(errors.Join(failed...), rig.close(ctx))
}

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
)

// staleProbes is the age from which the output says that probes are old.
const staleProbes = time.Minute

func writeJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// writeUpstreams writes a table and, below it, notes that do not fit into it.
func writeUpstreams(out io.Writer, all []upstream.Overview, now time.Time) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CHAIN\tUPSTREAM\tSUPPLY\tSCORE\tP50\tP95\tERRORS\tCALLS\tDISAGREED\tLAG\tLOGS\tRATE\tBUDGET\t"+
		"STATE\tCAN")
	var notes []string
	told := make(map[chain.ID]bool)
	for i := range all {
		o := &all[i]
		fmt.Fprintln(table, strings.Join(row(o), "\t"))
		if o.Detail != "" {
			notes = append(notes, fmt.Sprintf("%s of %s is %s: %s", o.Upstream, o.Chain, words(o.State), o.Detail))
		}
		if age := now.Sub(o.MeasuredAt); !told[o.Chain] && !o.MeasuredAt.IsZero() && age > staleProbes {
			told[o.Chain] = true
			notes = append(notes, fmt.Sprintf("the probes of %s are %s old: check that a worker runs", o.Chain,
				age.Round(time.Second)))
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, n := range notes {
		fmt.Fprintln(out, n)
	}
	return nil
}

func row(o *upstream.Overview) []string {
	about := ""
	if o.Source == "probes" {
		about = "~"
	}
	lag := "-"
	if o.HeadLag != nil {
		lag = strconv.FormatUint(*o.HeadLag, 10)
	}
	name := o.Upstream
	if o.Kind != config.KindNode {
		name += " (" + o.Kind + ")"
	}
	logs := "-"
	if o.LogBlocks != nil {
		logs = strconv.FormatUint(*o.LogBlocks, 10)
		if !o.LogBlocksUntil.IsZero() {
			logs = "~" + logs
		}
	}
	disagreed := "-"
	if o.Compared > 0 {
		disagreed = fmt.Sprintf("%d of %d", o.Disagreed, o.Compared)
	}
	rate := "-"
	if o.Rate != nil {
		rate = strconv.FormatFloat(*o.Rate, 'g', 4, 64) + "/s"
		if o.Lowered {
			rate = "~" + rate
		}
	}
	able, unknown := o.Able()
	for _, name := range unknown {
		able = append(able, name+"?")
	}
	return []string{
		string(o.Chain), name, string(o.Supply), figure(o.Score, 1, "%.1f"), figure(o.P50, 1, about+"%.1f ms"),
		figure(o.P95, 1, about+"%.1f ms"), figure(o.ErrorRate, 100, "%.1f %%"), strconv.FormatInt(o.Calls, 10),
		disagreed, lag, logs, rate, budget(o), words(o.State), cmp.Or(strings.Join(able, " "), "-"),
	}
}

// budget returns how much of the month's budget is spent.
func budget(o *upstream.Overview) string {
	switch {
	case o.Budget == nil:
		return "-"
	case o.Spent == nil:
		return fmt.Sprintf("? of %d", *o.Budget)
	}
	return fmt.Sprintf("%d %% of %d", int64(100*float64(*o.Spent)/float64(*o.Budget)), *o.Budget)
}

func words(state string) string { return strings.ReplaceAll(state, "_", " ") }

func figure(v *float64, times float64, format string) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf(format, *v*times)
}

package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

func TestReport_EachComparisonIsOneLineWithItsBar(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]result{
		"distinct_reads ratio_to_nginx=0.38 bar=0.40 aim=0.50 met=no": {
			"distinct_reads", ratioKey, 0.389, 2, bar{atLeast, 0.40, 0.50},
		},
		"distinct_reads p99_to_nginx=2.00 bar=2.00 met=yes": {
			"distinct_reads", p99Key, 2, 2, bar{atMost, 2, 0},
		},
		"local_hits ratio_to_nginx=0.65":                   {"local_hits", ratioKey, 0.65, 2, bar{}},
		"trace_50mb resident_growth_mb=8.0 bar=8.0 met=no": {traceName, residentKey, 8, 1, traceBar},
		"upstream_killed failed=0 bar=0 met=yes":           {killedName, "failed", 0, 0, failedBar},
		"upstream_killed p99_back_ms=never bar=2000 met=no": {
			killedName, "p99_back_ms", math.Inf(1), 0, backBar,
		},
		"idle_connections_1000 resident_growth_mb=63.9 bar=64.0 met=yes": {idleName, residentKey, 63.9, 1, idleBar},
	} {
		t.Run(want, func(t *testing.T) {
			if got := r.String(); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestReport_NoFigureLooksBetterThanItIs(t *testing.T) {
	t.Parallel()
	reads, p99, trace := bar{atLeast, 0.40, 0}, bar{atMost, 2, 0}, traceBar
	for _, tc := range []struct {
		value    float64
		decimals int
		bar      bar
		want     string
	}{
		{0.3999, 2, reads, "value=0.39 bar=0.40 met=no"},
		{0.40, 2, reads, "value=0.40 bar=0.40 met=yes"},
		{0.29, 2, reads, "value=0.29 bar=0.40 met=no"},
		{2.001, 2, p99, "value=2.01 bar=2.00 met=no"},
		{7.91, 1, trace, "value=8.0 bar=8.0 met=no"},
		{7.9, 1, trace, "value=7.9 bar=8.0 met=yes"},
	} {
		t.Run(tc.want, func(t *testing.T) {
			if got := (result{"name", "value", tc.value, tc.decimals, tc.bar}).String(); got != "name "+tc.want {
				t.Errorf("%g is told as %q, want %q", tc.value, got, tc.want)
			}
		})
	}
}

// wholeRun returns a report with every kind of result.
func wholeRun() *report {
	r := &report{out: io.Discard, progress: io.Discard}
	for i, l := range loads {
		c := compared{
			load: l, nginx: figures{rate: 40_000, p50: time.Millisecond, p99: 3 * time.Millisecond},
			gateway: figures{rate: 15_000 + 1000*float64(i), p50: 2 * time.Millisecond, p99: 5 * time.Millisecond},
		}
		r.loads = append(r.loads, c)
		r.add(c.ratio())
		r.add(c.p99())
	}
	r.add(result{traceName, residentKey, 2.1, 1, traceBar})
	r.add(result{traceGzipName, residentKey, 3.2, 1, traceBar})
	r.add(result{idleName, residentKey, 22, 1, idleBar})
	r.add(result{killedName, "failed", 1, 0, failedBar})
	r.add(result{killedName, "retried", 12, 0, bar{}})
	r.add(result{killedName, "p99_back_ms", 300, 0, backBar})
	r.add(result{allocationsName, "value", 52, 0, allocationsBar})
	r.add(result{admissionsName + "_" + quota.name, perSecondKey, 45_000.9, 0, admissionsBar})
	r.add(result{admissionsName + "_" + quota.name, scriptKey, 17.04, 1, bar{}})
	r.add(result{openLoopName, openLoopP50Key, 0.3, 2, bar{}})
	r.add(result{openLoopName, openLoopP99Key, 1.411, 2, openLoopBar})
	r.add(result{idleKeysName, bytesKey, 248.2, 0, idleKeysBar})
	r.add(result{idleKeysName, withCountersKey, 334, 0, idleKeysBar})
	r.add(result{flushName, secondsKey, 16.01, 1, flushBar})
	r.add(result{flushName, bucketsKey, 12_591, 0, bar{}})
	r.add(result{utilitiesName, requestsKey, 21_000.9, 0, utilitiesBar})
	r.add(result{toolboxHitName, costKey, 1.191, 2, toolboxHitBar})
	r.add(result{toolboxHitName, rateKey, 0.93, 2, bar{}})
	for _, key := range []string{coinTripsKey, indexTripsKey, nameTripsKey} {
		r.add(result{balancesName, key, 1, 2, oneTrip})
	}
	r.add(result{balancesName, toReadKey, 1.07, 2, sideBySide})
	r.add(result{balancesName, newToReadKey, 2.06, 2, bar{}})
	r.add(result{mcpMissName, cpuToRelayKey, 1.291, 2, mcpBar})
	r.add(result{mcpHitName, cpuToRelayKey, 1.5, 2, mcpBar})
	r.add(result{mcpClientsName, heapGrowthKey, 0.4, 1, mcpClientsBar})
	r.add(result{statementsName, heapKey, 18, 1, heapBar})
	r.add(result{statementsName, secondsKey, 4.46, 1, statementsBar})
	r.add(result{statementsName, perAccountKey, 446, 0, bar{}})
	r.add(result{statementsName, growthKey, 0.89, 2, growthBar})
	r.add(result{subscriptionsName, missedKey, 0, 0, onceBar})
	r.add(result{subscriptionsName, repeatedKey, 2, 0, onceBar})
	r.add(result{consoleName, slowestP50Key, 20, 1, consoleBar})
	r.add(result{consoleName, slowestP95Key, 41.23, 1, consoleBar})
	r.add(result{consoleName, largestPageKey, 88, 1, consoleSizeBar})
	r.kill = &timeline{
		before: []float64{4, 5, 4, 5, 4, 5, 4, 5, 4, 5}, after: []float64{math.NaN(), 80, 40, 5, 4, 5, 4, 5, 4, 5},
		usual: 5, failed: []time.Duration{30 * time.Millisecond}, reads: 12_345, back: 400 * time.Millisecond,
	}
	return r
}

func TestPicture_IsWellFormedAndShowsEveryComparison(t *testing.T) {
	t.Parallel()
	whole := wholeRun()
	svg := picture(whole, time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC))
	for _, want := range []string{
		"distinct_reads_with_quota", "cache_hits", "40,000", "2026-11-20", "upstream killed", "12,345 reads, 1 failed",
		"p99 is back after 400 ms", "prefers-color-scheme: dark", "a failed read", "at least 0.40", "0.37",
		"less than 64",
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture lacks %q", want)
		}
	}
	for _, result := range whole.results {
		if result.key != ratioKey && result.key != p99Key && words[result.key] == "" {
			t.Errorf("the picture has no words for %q", result.key)
		}
	}
	for name, r := range map[string]*report{
		"a whole run": whole, "nothing": {}, "never back": {
			kill: &timeline{before: []float64{1}, after: []float64{9}, usual: 1, back: -1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			svg := picture(r, time.Now())
			for _, unwanted := range []string{"NaN", "Inf", "<script", "@import", "%!"} {
				if strings.Contains(svg, unwanted) {
					t.Errorf("the picture holds %q", unwanted)
				}
			}
			d := xml.NewDecoder(strings.NewReader(svg))
			for {
				if _, err := d.Token(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatalf("the picture is not well-formed: %v", err)
				}
			}
		})
	}
}

func TestRecord_AddsALineToTheTableOfTheCheckout(t *testing.T) {
	t.Parallel()
	committed, err := os.ReadFile("results.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(committed, []byte("\n"+header()+"\n")) {
		t.Errorf("results.md lacks the header of the columns that are written:\n%s", header())
	}
	path := filepath.Join(t.TempDir(), "results.md")
	if err := os.WriteFile(path, committed, 0o600); err != nil {
		t.Fatal(err)
	}
	r := wholeRun()
	now := time.Date(2026, 11, 20, 23, 0, 0, 0, time.UTC)
	for range 2 {
		if err := r.record(path, now); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	line := "| 2026-11-20 | " + machine() +
		" | 0.37 | 1.67 | 0.40 | 0.42 | 0.45 | 2.1 | 3.2 | 22.0 | 1 | 300 | 52 | 45000 | 17.0 | 1.42 | 249 | 334 | " +
		"16.1 | 21000 | 1.20 | 1.30 | 1.50 | 4.5 | 0.89 | 0 | 2 | 41.3 | 88.0 |\n"
	if want := string(committed) + line + line; string(got) != want {
		t.Errorf("the table is now\n%s\nwant\n%s", got, want)
	}
	if err := os.WriteFile(path, []byte("# Something else\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.record(path, now); err == nil {
		t.Error("a line was added to a file without the table")
	}
}

func TestFlags_AreChecked(t *testing.T) {
	t.Parallel()
	for args, fault := range map[string]string{
		"":                               "",
		"--only trace_50mb --rounds 1":   "",
		"--record --strict":              "",
		"--rounds 0":                     "at least one round",
		"--duration 1500ms":              "whole second",
		"--record --only trace_50mb":     "whole run",
		"--record --keys 200000":         "whole sizes",
		"--accounts 10 --keys 9":         "a key for each",
		"--buckets 0":                    "one account with usage",
		"trace_50mb":                     "is no flag",
		"--profile x.prof --duration 1s": "two seconds",
	} {
		t.Run(args, func(t *testing.T) {
			_, err := parse(strings.Fields(args), io.Discard)
			in := expect.In(t, "%q", args)
			if fault == "" {
				expect.NoError(in, err)
				return
			}
			require.Error(in, err)
			expect.Contains(in, err.Error(), fault)
		})
	}
}

func TestList_NamesWhatOnlyTakes(t *testing.T) {
	t.Parallel()
	var list bytes.Buffer
	if err := run(t.Context(), []string{"--list"}, &list, io.Discard); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(list.String()) {
		name := strings.Fields(line)[0]
		in := expect.In(t, "--only %s", name)
		chosen, err := choose(measurements(), name)
		require.NoError(in, err)
		require.Len(in, chosen, 1)
		expect.Equal(in, chosen[0].name, name)
	}
	expect.Equal(t, strings.Count(list.String(), "\n"), len(measurements()))
	_, err := choose(measurements(), "trace_50mb,nonsense")
	require.Error(t, err)
	expect.Contains(t, err.Error(), `"nonsense"`)
}

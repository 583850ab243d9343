package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chainaccess/gateway/plan"
)

// figures are what wrk measured.
type figures struct {
	rate     float64 // requests per second
	p50, p99 time.Duration
	calls    float64
	failed   int    // answers other than 2xx, and socket errors
	cpu      string // what each program spent on a call
}

// load is one kind of request, every one of them different.
type load struct {
	name string
	body string // Lua expression over n, the number of the request
	plan string // of the accounts whose keys send it
}

const getBalance = `string.format('{"jsonrpc":"2.0","id":%d,"method":"eth_getBalance","params":["0x%040x","latest"]}', n, n)`

// loads are what is compared. Calls of the first are held to the rate window, calls of the second to a quota as well.
var loads = []load{
	{"distinct_reads", getBalance, plan.Enterprise},
	{"distinct_reads_with_quota", getBalance, plan.Growth},
}

// measure runs both sides in turn and prints each comparison as one line.
func (r *rig) measure(ctx context.Context, o options, out, progress io.Writer) error {
	for _, l := range loads {
		var nginx, gateway []figures
		for round := range o.rounds + 1 {
			fmt.Fprintf(progress, "%s: round %d of %d\n", l.name, round, o.rounds)
			n, err := r.wrk(ctx, o, l, r.nginx+"/rpc/eth_mainnet", r.keys[l.plan])
			if err != nil {
				return err
			}
			profiled := r.profileDuring(ctx, o, round == o.rounds)
			g, err := r.wrk(ctx, o, l, r.gateway+"/rpc/eth_mainnet", r.keys[l.plan])
			if err := <-profiled; err != nil {
				return err
			}
			if err != nil {
				return err
			}
			if n.failed+g.failed > 0 {
				return fmt.Errorf("%s: %d answers of nginx and %d of the gateway failed", l.name, n.failed, g.failed)
			}
			if round > 0 { // the first warms up
				nginx, gateway = append(nginx, n), append(gateway, g)
			}
		}
		n, g := median(nginx), median(gateway)
		fmt.Fprintf(out, "nginx    %8.0f requests/s  p50 %-9s p99 %-9s  cpu per call: %s\n", n.rate, n.p50, n.p99, n.cpu)
		fmt.Fprintf(out, "gateway  %8.0f requests/s  p50 %-9s p99 %-9s  cpu per call: %s\n", g.rate, g.p50, g.p99, g.cpu)
		fmt.Fprintf(out, "%s ratio_to_nginx=%.2f\n", l.name, g.rate/n.rate)
	}
	return nil
}

const script = `
local keys = { %s }
local prefix, n = 0, 0
local threads = 0
function setup(thread) thread:set("prefix", threads); threads = threads + 1 end
function init(args) n = prefix * 1000000000 end
local headers = { ["Content-Type"] = "application/json" }
function request()
  n = n + 1
  if #keys > 0 then headers["Authorization"] = keys[n %% #keys + 1] end
  return wrk.format("POST", nil, headers, %s)
end
`

func (r *rig) wrk(ctx context.Context, o options, l load, url string, keys []string) (figures, error) {
	quoted := make([]string, len(keys))
	for i, k := range keys {
		quoted[i] = strconv.Quote("Bearer " + k)
	}
	file := filepath.Join(r.dir, "load.lua")
	if err := os.WriteFile(file, fmt.Appendf(nil, script, strings.Join(quoted, ","), l.body), 0o600); err != nil {
		return figures{}, err
	}
	cmd := exec.CommandContext(ctx, "wrk", "-t2", "-c", strconv.Itoa(o.connections), //nolint:gosec // numbers and paths of ours
		"-d", strconv.Itoa(int(o.duration.Seconds()))+"s", "--latency", "-s", file, url)
	before := cpuByProgram()
	text, err := cmd.CombinedOutput()
	if err != nil {
		return figures{}, fmt.Errorf("wrk: %w: %s", err, text)
	}
	f, err := parseWrk(string(text))
	f.cpu = perCall(before, cpuByProgram(), f.calls)
	if used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(); f.calls > 0 {
		f.cpu += fmt.Sprintf(", wrk %.0f µs", float64(used.Microseconds())/f.calls)
	}
	return f, err
}

var (
	callsLine  = regexp.MustCompile(`(\d+) requests in`)
	rateLine   = regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`)
	quantile   = regexp.MustCompile(`\n\s+(50|99)%\s+([0-9.]+)(us|ms|s)`)
	failedLine = regexp.MustCompile(`Non-2xx or 3xx responses: (\d+)`)
	socketLine = regexp.MustCompile(`Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)`)
)

func parseWrk(text string) (figures, error) {
	var f figures
	m := rateLine.FindStringSubmatch(text)
	quantiles := quantile.FindAllStringSubmatch(text, -1)
	if m == nil || len(quantiles) != 2 {
		return f, fmt.Errorf("wrk printed something unexpected: %s", text)
	}
	if c := callsLine.FindStringSubmatch(text); c != nil {
		f.calls, _ = strconv.ParseFloat(c[1], 64)
	}
	f.rate, _ = strconv.ParseFloat(m[1], 64) // digits, by the expression
	for i, into := range []*time.Duration{&f.p50, &f.p99} {
		d, err := time.ParseDuration(quantiles[i][2] + quantiles[i][3])
		if err != nil {
			return f, err
		}
		*into = d
	}
	if m := failedLine.FindStringSubmatch(text); m != nil {
		f.failed, _ = strconv.Atoi(m[1])
	}
	if m := socketLine.FindStringSubmatch(text); m != nil {
		for _, count := range m[1:] {
			n, _ := strconv.Atoi(count)
			f.failed += n
		}
	}
	return f, nil
}

func median(all []figures) figures {
	slices.SortFunc(all, func(a, b figures) int { return cmp.Compare(a.rate, b.rate) })
	return all[len(all)/2]
}

// profileDuring fetches a CPU profile of the gateway while it is under load, when asked for.
func (r *rig) profileDuring(ctx context.Context, o options, now bool) <-chan error {
	done := make(chan error, 1)
	if o.profile == "" || !now {
		done <- nil
		return done
	}
	go func() { done <- r.fetchProfile(ctx, o) }()
	return done
}

func (r *rig) fetchProfile(ctx context.Context, o options) error {
	cpu := fmt.Sprintf("%s/profile?seconds=%d", r.pprof, int(o.duration.Seconds())-1)
	if err := download(ctx, cpu, o.profile); err != nil {
		return err
	}
	return download(ctx, r.pprof+"/allocs", o.profile+".allocs")
}

func download(ctx context.Context, url, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	file, err := os.Create(path) //nolint:gosec // the user names it
	if err != nil {
		return err
	}
	if _, err := io.Copy(file, resp.Body); err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	return file.Close()
}

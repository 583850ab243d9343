package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

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
%s  return %s
end
`

// networks makes each request come from another network, by the header that a proxy in front of the
// gateway would set.
const networks = `  headers["X-Forwarded-For"] = string.format("10.%d.%d.%d", math.floor(n / 65536) % 256, math.floor(n / 256) % 256, n % 256)
`

// watch stops wrk at the first answer that contains what none may.
const watch = `
local function stop(body)
  io.stderr:write(body:sub(1, 500))
  os.exit(1)
end
function response(status, headers, body) return body:find(%q, 1, true) and stop(body) end
`

// wrk sends a load to one side.
func (r *rig) wrk(ctx context.Context, o options, l load, url string) (figures, error) {
	keys := r.keys[l.plan]
	quoted := make([]string, len(keys))
	for i, k := range keys {
		quoted[i] = strconv.Quote("Bearer " + k)
	}
	file := filepath.Join(r.dir, "load.lua")
	from := ""
	if l.many {
		from = networks
	}
	text := fmt.Appendf(nil, script, strings.Join(quoted, ","), from, l.request())
	if l.wrong != "" {
		text = fmt.Appendf(text, watch, l.wrong)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return figures{}, err
	}
	//nolint:gosec // numbers and paths of ours
	cmd := exec.CommandContext(ctx, "wrk", "-t2", "-c", strconv.Itoa(o.connections),
		"-d", strconv.Itoa(int(o.duration.Seconds()))+"s", "--latency", "-s", file, url)
	before := cpuByProgram()
	said, err := cmd.CombinedOutput()
	if err != nil {
		return figures{}, fmt.Errorf("wrk: %w: %s", err, said)
	}
	f, err := parseWrk(string(said))
	f.cpu = perCall(before, cpuByProgram(), f.calls)
	if used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(); f.calls > 0 {
		f.cpu["wrk"] = float64(used.Microseconds()) / f.calls
	}
	if err == nil && f.failed > 0 {
		err = fmt.Errorf("%d answers failed", f.failed)
	}
	return f, err
}

var (
	callsLine  = regexp.MustCompile(`(\d+) requests in`)
	rateLine   = regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`)
	quantile   = regexp.MustCompile(`\n\s+(50|99)%\s+([0-9.]+)(us|ms|s|m)\b`)
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
	if f.rate == 0 || f.p99 == 0 {
		return f, fmt.Errorf("no request was answered: %s", text)
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

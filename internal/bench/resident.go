package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/chainaccess/gateway/metering/plan"
)

const (
	residentKey = "resident_growth_mb"
	megabyte    = 1e6
	settleFor   = time.Second
)

// service is a fresh gateway in front of nodes of its own.
type service struct {
	gateway *gateway
	nodes   []*nodeProcess
	client  *client
}

// inService starts a gateway with one node for each name, and makes one call with each key. The
// process is fresh, because growth would not show in one that was under load: Go keeps memory that
// it once had.
func (r *rig) inService(ctx context.Context, o options, names ...string) (s *service, err error) {
	if err := r.servers(ctx); err != nil {
		return nil, err
	}
	s = &service{}
	defer func() {
		if err != nil {
			s.end()
		}
	}()
	for _, name := range names {
		n, err := r.startNode(ctx, name)
		if err != nil {
			return nil, err
		}
		s.nodes = append(s.nodes, n)
	}
	if s.gateway, err = r.freshGateway(ctx, s.nodes...); err != nil {
		return nil, err
	}
	s.client = &client{url: s.gateway.url + rpcPath, keys: r.keys[plan.Enterprise], http: newHTTPClient(o.connections)}
	if err := s.client.firstCalls(ctx); err != nil {
		return nil, err
	}
	return s, pause(ctx, settleFor)
}

// end kills the nodes. The next gateway replaces this one.
func (s *service) end() {
	for _, n := range s.nodes {
		_ = n.Kill() // it has no state
	}
}

// grownBy returns by how many megabytes the peak resident memory of a process exceeds its present
// size while work runs.
func grownBy(p *gateway, report *report, work func() error) (float64, error) {
	pid := p.PID()
	// resets the peak, see proc(5)
	if err := os.WriteFile(procFile(pid, "clear_refs"), []byte("5"), 0); err != nil {
		return 0, fmt.Errorf("resident memory can be measured on Linux only: %w", err)
	}
	before, err := residentMemory(pid, "VmRSS")
	if err != nil {
		return 0, err
	}
	if err := work(); err != nil {
		return 0, err
	}
	peak, err := residentMemory(pid, "VmHWM")
	if err != nil {
		return 0, err
	}
	after, err := residentMemory(pid, "VmRSS")
	report.sayf("resident: %.1f MB before, %.1f MB at the peak, %.1f MB after", before/megabyte, peak/megabyte,
		after/megabyte)
	return max(0, peak-before) / megabyte, err
}

func procFile(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

// residentMemory reads a line of /proc/PID/status and returns it in bytes.
func residentMemory(pid int, line string) (float64, error) {
	text, err := os.ReadFile(procFile(pid, "status"))
	if err != nil {
		return 0, err
	}
	for l := range strings.Lines(string(text)) {
		if figure, ok := strings.CutPrefix(l, line+":"); ok {
			kilobytes, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(figure), " kB"), 64)
			return kilobytes * 1024, err
		}
	}
	return 0, fmt.Errorf("no %s in /proc", line)
}

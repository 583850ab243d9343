package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of CPU time in /proc (USER_HZ), 10 ms on every Linux that Go runs on.
const clockTick = 10 * time.Millisecond

// cpuByProgram sums the CPU time of this program's descendants by program name. Rates depend on a
// quiet machine; the CPU time per call hardly does. The map is empty where there is no /proc.
func cpuByProgram() map[string]time.Duration {
	type process struct {
		parent int
		name   string
		used   time.Duration
	}
	all := make(map[int]process)
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is valid
	for _, file := range stats {
		text, err := os.ReadFile(file) //nolint:gosec // from the pattern above
		if err != nil {
			continue // it has exited
		}
		var pid int
		open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
		if _, err := fmt.Sscan(string(text[:max(open, 0)]), &pid); err != nil || end < open {
			continue
		}
		fields := strings.Fields(string(text[end+1:]))
		if len(fields) < 13 {
			continue
		}
		parent, _ := strconv.Atoi(fields[1]) // a number, see proc(5)
		user, _ := strconv.Atoi(fields[11])
		system, _ := strconv.Atoi(fields[12])
		all[pid] = process{parent, string(text[open+1 : end]), time.Duration(user+system) * clockTick}
	}
	used := make(map[string]time.Duration)
	for pid, p := range all {
		for up := pid; up > 1; up = all[up].parent {
			if up == os.Getpid() && pid != up {
				used[p.name] += p.used
				break
			}
		}
	}
	return used
}

// spent is the CPU time per call in microseconds, by program.
type spent map[string]float64

// perCall divides the CPU time between two readings by the number of calls.
func perCall(before, after map[string]time.Duration, calls float64) spent {
	s := make(spent)
	for name, used := range after {
		if used > before[name] && calls > 0 {
			s[name] = float64((used - before[name]).Microseconds()) / calls
		}
	}
	return s
}

// String formats the times for people.
func (s spent) String() string {
	var parts []string
	for _, of := range [...]struct{ name, label string }{
		{"nginx", "nginx"},
		{"gateway", "gateway"},
		{"redis-server", "redis-server"},
		{"postgres", "postgres"},
		{"bench", "upstream"},
		{"wrk", "wrk"},
	} {
		if s[of.name] > 0 {
			parts = append(parts, fmt.Sprintf("%s %.0f µs", of.label, s[of.name]))
		}
	}
	return strings.Join(parts, ", ")
}

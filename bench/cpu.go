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

// cpuByProgram adds up the CPU time of this program's descendants, by their name. Ratios need a quiet machine; the CPU time of a call
// hardly does. It is empty where there is no /proc.
func cpuByProgram() map[string]time.Duration {
	type process struct {
		parent int
		name   string
		used   time.Duration
	}
	all := make(map[int]process)
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well-formed
	for _, file := range stats {
		text, err := os.ReadFile(file) //nolint:gosec // from the pattern above
		if err != nil {
			continue // it ended meanwhile
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
		parent, _ := strconv.Atoi(fields[1]) // numbers, by proc(5)
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

// perCall says what each program spent on a call between two readings.
func perCall(before, after map[string]time.Duration, calls float64) string {
	var parts []string
	for _, name := range []string{"nginx", "gateway", "redis-server", "postgres", "bench"} {
		if spent := after[name] - before[name]; spent > 0 && calls > 0 {
			label := name
			if name == "bench" {
				label = "upstream"
			}
			parts = append(parts, fmt.Sprintf("%s %.0f µs", label, float64(spent.Microseconds())/calls))
		}
	}
	return strings.Join(parts, ", ")
}

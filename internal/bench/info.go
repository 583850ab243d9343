package main

import (
	"fmt"
	"strconv"
	"strings"
)

// info is the answer of Redis to INFO, by name.
type info map[string]string

// parseInfo parses the answer to INFO, which has a name and a value per line, and headings.
func parseInfo(text string) info {
	all := info{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		if ok && !strings.HasPrefix(name, "#") {
			all[name] = value
		}
	}
	return all
}

// number returns a value that is a plain number.
func (i info) number(name string) (float64, error) {
	n, err := strconv.ParseFloat(i[name], 64)
	if err != nil {
		return 0, fmt.Errorf("the %s of Redis: %w", name, err)
	}
	return n, nil
}

// scripts returns how many scripts were called by their digest (EVALSHA), and the mean time of one
// in microseconds. Redis runs only one script at a time.
func (i info) scripts() (calls, micros float64, err error) {
	parts := map[string]string{}
	for part := range strings.SplitSeq(i["cmdstat_evalsha"], ",") {
		name, value, _ := strings.Cut(part, "=")
		parts[name] = value
	}
	for name, into := range map[string]*float64{"calls": &calls, "usec": &micros} {
		if *into, err = strconv.ParseFloat(parts[name], 64); err != nil {
			return 0, 0, fmt.Errorf("the scripts of Redis, %q: %w", i["cmdstat_evalsha"], err)
		}
	}
	if calls == 0 {
		return 0, 0, nil
	}
	return calls, micros / calls, nil
}

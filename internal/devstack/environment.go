package devstack

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// serverEnv returns this process's environment without variables that begin with one of the
// prefixes, so that settings for clients do not affect a server, and without a locale that the
// machine may lack.
func serverEnv(prefixes ...string) []string {
	env := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		return strings.HasPrefix(entry, "LC_") || slices.ContainsFunc(prefixes, func(p string) bool {
			return strings.HasPrefix(entry, p)
		})
	})
	return append(env, "LC_ALL=C")
}

// commandLine returns the command line of a process; empty when there is no such process.
func commandLine(ctx context.Context, pid int) string {
	id := strconv.Itoa(pid)
	//nolint:gosec // the id is a number
	if text, err := os.ReadFile(filepath.Join("/proc", id, "cmdline")); err == nil {
		return string(bytes.ReplaceAll(text, []byte{0}, []byte{' '}))
	}
	//nolint:gosec // the id is a number
	text, err := exec.CommandContext(ctx, "ps", "-o", "command=", "-p", id).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// version returns the major version in the format of PG_VERSION; empty when the program does not
// report it.
func (p postgresPrograms) version(ctx context.Context) string {
	// For example "postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)".
	out, err := exec.CommandContext(ctx, p.postgres, "--version").Output() //nolint:gosec // an installed program
	if err != nil {
		return ""
	}
	_, after, _ := strings.Cut(string(out), "(PostgreSQL) ")
	return versionInPath.FindString(after)
}

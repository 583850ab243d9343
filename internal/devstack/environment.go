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

// serverEnv is this process's environment without the variables which begin with one of the
// prefixes, so that settings meant for clients do not reach a server, and without a locale that the
// machine may lack.
func serverEnv(prefixes ...string) []string {
	env := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		return strings.HasPrefix(entry, "LC_") || slices.ContainsFunc(prefixes, func(p string) bool {
			return strings.HasPrefix(entry, p)
		})
	})
	return append(env, "LC_ALL=C")
}

// commandLine is what a process was started with; empty when there is no such process.
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

// version is the major version, as PG_VERSION writes it; empty when the program does not tell.
func (p postgresPrograms) version(ctx context.Context) string {
	// For instance "postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)".
	out, err := exec.CommandContext(ctx, p.postgres, "--version").Output() //nolint:gosec // an installed program
	if err != nil {
		return ""
	}
	_, after, _ := strings.Cut(string(out), "(PostgreSQL) ")
	return versionInPath.FindString(after)
}

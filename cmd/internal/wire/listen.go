package wire

import (
	"log/slog"
	"net"
	"syscall"

	"golang.org/x/net/netutil"
)

// spareFiles are the descriptors that a process needs beside its clients' connections: for upstreams, Redis, PostgreSQL.
const spareFiles = 4096

// bounded takes at most so many connections of clients at a time, 0 for as many as come: what is beyond waits in the system's queue.
// A process that may not open that many files is told at its start.
func bounded(listener net.Listener, most int, log *slog.Logger) net.Listener {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err == nil && files.Max < uint64(most)+spareFiles {
		log.Warn("the process may open too few files for MAX_CONNECTIONS: raise the limit (ulimit -n) or lower the variable",
			"files", files.Max, "max_connections", most, "files_needed", most+spareFiles)
	}
	if most == 0 {
		return listener
	}
	return netutil.LimitListener(listener, most)
}

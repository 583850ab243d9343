package devstack

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// relocatedBase holds databases whose data directory PostgreSQL's user cannot reach, for example
// below /root.
const relocatedBase = "/var/lib/chain-access-gateway"

// postgresOwner returns the user to run PostgreSQL as; nil means the user of this process.
// PostgreSQL refuses to run as root, so for root it is the owner of the data, else the user
// postgres, else nobody.
func postgresOwner(dataDir string) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // no other user is needed
	}
	if info, err := os.Stat(filepath.Join(dataDir, "postgres", "data")); err == nil {
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Uid != 0 {
			return &syscall.Credential{Uid: stat.Uid, Gid: stat.Gid}, nil
		}
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		if uidErr == nil && gidErr == nil && uid != 0 {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New(
		"PostgreSQL refuses to run as root, and there is neither a user postgres nor a user nobody: " +
			"run as another user, or set DATABASE_URL to one that runs")
}

// postgresHome creates the cluster's directory, accessible only to its owner. When the owner cannot
// reach the data directory, the cluster is below /var/lib and the data directory contains a link to
// it.
func (s *starter) postgresHome(owner *syscall.Credential) (string, error) {
	home := filepath.Join(s.opts.DataDir, "postgres")
	if target, err := filepath.EvalSymlinks(home); err == nil {
		return target, nil
	}
	if info, err := os.Lstat(home); err == nil && info.Mode()&os.ModeSymlink != 0 {
		// The link's target was removed, so the database is gone; a new one replaces it.
		if err := os.Remove(home); err != nil {
			return "", fmt.Errorf("remove the dangling link %s: %w", home, err)
		}
	}
	if owner == nil {
		return home, os.MkdirAll(home, 0o700)
	}
	if !reachable(s.opts.DataDir, owner) {
		return s.relocate(home, owner)
	}
	if err := os.Mkdir(home, 0o700); err != nil {
		return "", fmt.Errorf("make the directory of the database: %w", err)
	}
	return home, os.Chown(home, int(owner.Uid), int(owner.Gid))
}

func (s *starter) relocate(link string, owner *syscall.Credential) (string, error) {
	fail := func(err error) (string, error) {
		return "", fmt.Errorf("PostgreSQL refuses to run as root, and its user cannot enter %s: "+
			"choose a data directory that every user can enter, or set DATABASE_URL: %w", s.opts.DataDir, err)
	}
	if err := os.MkdirAll(relocatedBase, 0o755); err != nil { //nolint:gosec // PostgreSQL's user traverses it
		return fail(err)
	}
	home, err := os.MkdirTemp(relocatedBase, "postgres-")
	if err != nil {
		return fail(err)
	}
	if err := os.Chown(home, int(owner.Uid), int(owner.Gid)); err != nil {
		return fail(err)
	}
	if err := os.Symlink(home, link); err != nil {
		return fail(err)
	}
	s.progress.sayf("the database lies in %s, because PostgreSQL does not run as root and its user cannot enter %s",
		home, s.opts.DataDir)
	return home, nil
}

// reachable reports whether the user may traverse dir and every directory above it.
func reachable(dir string, who *syscall.Credential) bool {
	for {
		info, err := os.Stat(dir)
		if err != nil {
			return false
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return false
		}
		bit := os.FileMode(0o001)
		switch {
		case stat.Uid == who.Uid:
			bit = 0o100
		case stat.Gid == who.Gid:
			bit = 0o010
		}
		if info.Mode().Perm()&bit == 0 {
			return false
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return true
		}
		dir = parent
	}
}

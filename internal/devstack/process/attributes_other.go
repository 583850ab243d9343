//go:build !linux

package process

import "syscall"

// attributes puts the child into a process group of its own, so that Ctrl-C in the terminal reaches
// the parent alone. Only Linux has a parent-death signal; elsewhere the next start ends what a
// killed parent left behind.
func attributes(spec Spec) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: spec.Credential}
}

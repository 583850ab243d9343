//go:build !linux

package process

import "syscall"

// attributes puts the child into its own process group, so that Ctrl-C in the terminal reaches only
// the parent. Only Linux has a parent-death signal; elsewhere the next start stops what a killed
// parent left running.
func attributes(spec Spec) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: spec.Credential}
}

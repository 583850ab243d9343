package process

import "syscall"

// attributes puts the child into a process group of its own, so that Ctrl-C in the terminal reaches
// the parent alone, and has the kernel end it with the parent.
func attributes(spec Spec) *syscall.SysProcAttr {
	death := spec.ParentDeath
	if death == 0 {
		death = syscall.SIGKILL
	}
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: death, Credential: spec.Credential}
}

package process

import "syscall"

// attributes puts the child into its own process group, so that Ctrl-C in the terminal reaches only
// the parent, and makes the kernel signal the child when the parent dies.
func attributes(spec Spec) *syscall.SysProcAttr {
	death := spec.ParentDeath
	if death == 0 {
		death = syscall.SIGKILL
	}
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: death, Credential: spec.Credential}
}

//go:build !linux

package exec

import "syscall"

// tied puts a program into a process group of its own. It outlives this process when that is killed.
func tied() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

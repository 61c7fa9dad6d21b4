package exec

import "syscall"

// tied puts a program into a process group of its own, and has the system kill it when this process ends in whatever way: one that is
// left over would work on its batch beside the next start, which sends it again. The system's word is about the thread that
// started the program, and Go keeps its threads.
func tied() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

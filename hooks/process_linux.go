package hooks

import "syscall"

// dieWithParent has the kernel kill the hook's own process should the agent die
// (kill -9 included). The setting is not inherited by what the hook forks, so a
// daemon that it has put in the background lives on. RunProcess keeps the
// forking thread locked, because the kernel means the thread's death.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

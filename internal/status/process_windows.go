package status

import (
	"syscall"
	"time"
)

// CPUTime returns the processor time that the process has used, or 0 if it is unknown.
func CPUTime() time.Duration {
	process, err := syscall.GetCurrentProcess()
	if err != nil {
		return 0
	}
	var created, ended, kernel, user syscall.Filetime
	if syscall.GetProcessTimes(process, &created, &ended, &kernel, &user) != nil {
		return 0
	}
	ticks := func(t syscall.Filetime) time.Duration {
		return time.Duration(uint64(t.HighDateTime)<<32|uint64(t.LowDateTime)) * 100 // of 100 ns
	}
	return ticks(kernel) + ticks(user)
}

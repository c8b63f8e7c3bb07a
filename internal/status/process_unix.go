//go:build unix

package status

import (
	"syscall"
	"time"
)

// CPUTime returns the processor time that the process has used, or 0 if it is unknown.
func CPUTime() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

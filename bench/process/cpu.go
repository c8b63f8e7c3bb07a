package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// CPU returns the CPU time that the threads of the process have used, from /proc/PID/task/*/schedstat. It is more precise than Usage,
// whose unit is 10 ms, but omits the time of threads that have ended. It returns 0 if the system has no such files.
func (p *Process) CPU() time.Duration {
	files, err := filepath.Glob("/proc/" + strconv.Itoa(p.PID()) + "/task/*/schedstat")
	if err != nil {
		return 0
	}
	var used time.Duration
	for _, file := range files {
		text, err := os.ReadFile(file) // the error means that the thread has ended
		if err != nil {
			continue
		}
		first, _, _ := bytes.Cut(text, []byte(" "))
		ns, _ := strconv.ParseInt(string(first), 10, 64)
		used += time.Duration(ns)
	}
	return used
}

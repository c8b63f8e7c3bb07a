package status

import (
	"bytes"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
)

// Process describes the process of the gateway.
type Process struct {
	RSS        uint64  `json:"rss"`        // bytes of resident memory
	CPU        float64 `json:"cpu"`        // cores used in the last 5 seconds
	Goroutines int     `json:"goroutines"` // that exist
}

// NewProcess describes this process, without CPU. On Linux it reads a file.
func NewProcess() Process {
	return Process{RSS: residentBytes(), Goroutines: runtime.NumGoroutine()}
}

// residentBytes returns the resident memory of the process. On systems without /proc, it returns the memory that the Go
// runtime holds.
func residentBytes() uint64 {
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		if fields := bytes.Fields(text); len(fields) > 1 {
			if pages, err := strconv.ParseUint(string(fields[1]), 10, 64); err == nil {
				return pages * uint64(os.Getpagesize())
			}
		}
	}
	used := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(used)
	if used[0].Value.Kind() != metrics.KindUint64 || used[1].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return used[0].Value.Uint64() - used[1].Value.Uint64()
}

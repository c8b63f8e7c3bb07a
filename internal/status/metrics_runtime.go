package status

import (
	"strconv"
	"strings"

	"github.com/VictoriaMetrics/metrics"
)

// runtimeHelp describes families of the Go runtime and of the process whose names do not explain them.
var runtimeHelp = map[string]string{
	"go_gc_duration_seconds":        "Quantiles of the pauses of garbage collections, in seconds.",
	"go_gc_pauses_seconds":          "Pauses of the garbage collector, in seconds.",
	"go_sched_latencies_seconds":    "Seconds that goroutines waited to run.",
	"go_goroutines":                 "Goroutines that exist.",
	"go_threads":                    "Operating system threads that exist.",
	"go_gomaxprocs":                 "Threads that may run Go code at once.",
	"go_memlimit_bytes":             "Soft memory limit of the Go runtime, in bytes.",
	"go_memstats_heap_inuse_bytes":  "Bytes in heap spans that are in use.",
	"go_info":                       "Version of Go.",
	"process_cpu_seconds_total":     "Processor time of the process, in seconds.",
	"process_max_fds":               "Maximum number of open file descriptors.",
	"process_open_fds":              "Open file descriptors.",
	"process_resident_memory_bytes": "Resident memory of the process, in bytes.",
	"process_start_time_seconds":    "Start of the process, in seconds since 1970-01-01 UTC.",
	"process_virtual_memory_bytes":  "Virtual memory of the process, in bytes.",
}

// writeRuntime writes the metrics of the process and of the Go runtime.
func (p *page) writeRuntime() {
	var text strings.Builder
	metrics.WriteProcessMetrics(&text)
	metrics.WriteFDMetrics(&text)
	p.writeSamples(text.String())
}

// writeSamples announces the families of the samples in text and writes the samples. It drops the comments in text. The
// samples of a family must be adjacent.
func (p *page) writeSamples(text string) {
	last := ""
	for line := range strings.Lines(text) {
		if line[0] == '#' || strings.TrimSpace(line) == "" {
			continue
		}
		name, kind := runtimeFamily(line[:strings.IndexAny(line, "{ ")])
		if name != last {
			p.announce(name, kind, runtimeHelpOf(name))
			last = name
		}
		p.WriteString(p.adapted(line))
	}
}

// runtimeFamily returns the family of a sample and its type. A sample whose name ends in _count is untyped, because
// that suffix is reserved for histograms and summaries.
func runtimeFamily(sample string) (name, kind string) {
	if base, ok := strings.CutSuffix(sample, "_bucket"); ok {
		return base, histo
	}
	switch {
	case strings.HasPrefix(sample, "go_gc_duration_seconds"):
		return "go_gc_duration_seconds", "summary"
	case strings.HasSuffix(sample, "_total"):
		return sample, counter
	case strings.HasSuffix(sample, "_count"):
		return sample, untyped
	}
	return sample, gauge
}

// adapted returns a sample in the page's format. It reformats the value of a label le or quantile and, for
// OpenMetrics, removes the spaces between labels.
func (p *page) adapted(line string) string {
	if p.open {
		line = strings.ReplaceAll(line, `", `, `",`)
	}
	for _, label := range []string{`{le="`, `{quantile="`} {
		before, rest, ok := strings.Cut(line, label)
		if value, after, closed := strings.Cut(rest, `"`); ok && closed {
			if v, err := strconv.ParseFloat(value, 64); err == nil {
				return before + label + p.bound(v) + `"` + after
			}
		}
	}
	return line
}

// runtimeHelpOf returns the description of a family of the runtime or the operating system. The set of families differs
// between operating systems and Go releases.
func runtimeHelpOf(name string) string {
	if text := runtimeHelp[name]; text != "" {
		return text
	}
	source, rest, _ := strings.Cut(name, "_")
	words := strings.ReplaceAll(rest, "_", " ")
	if source == "process" {
		return "Reported by the operating system for this process: " + words + "."
	}
	return "Reported by the Go runtime: " + words + "."
}

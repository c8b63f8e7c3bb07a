package status

import (
	"fmt"
	"strings"
)

// help describes the gateway's own metric families.
var help = map[string]string{
	"goblin_actor_mailbox_depth":    "Messages that wait in the mailboxes of actors, by kind of actor.",
	"goblin_actor_restarts_total":   "Restarts of actors after a fault, by kind of actor.",
	"goblin_audit_dropped_total":    "Audit records dropped since the start.",
	"goblin_audit_failing":          "1 while the audit log cannot be written, else 0.",
	"goblin_audit_sequence":         "Number of the newest line of the audit log.",
	"goblin_audit_signed_sequence":  "Number of the newest line of the audit log that a signature covers.",
	"goblin_backend_connections":    "Connections to a replica of a server, by state.",
	"goblin_backend_restarts_total": "Connection attempts to a replica after the first one.",
	"goblin_backend_state_seconds":  "Seconds since a replica entered its current state.",
	"goblin_backend_up":             "1 while the connection that lists a replica's items is ready, else 0.",
	"goblin_bytes_total":            "Bytes of messages, by side and direction as seen from the gateway.",
	"goblin_call_seconds":           "Seconds from the arrival of a call to its answer.",
	"goblin_calls_total":            "Finished calls, by server, method and outcome.",
	"goblin_catalog_items":          "Items that a server offers, by kind.",
	"goblin_catalog_version":        "Version of the catalog; it rises with each change.",
	"goblin_config_reload_failed":   "1 while the current configuration file is rejected, else 0.",
	"goblin_in_flight":              "Calls that a server is working on.",
	"goblin_notifications_total":    "Notifications to clients, by kind and outcome.",
	"goblin_parked_calls":           "Calls that wait for a client to answer a server request.",
	"goblin_policy_denied_total":    "Requests that the policy denied, or would have denied in report mode.",
	"goblin_queue_depth":            "Calls that wait for a free slot of a server.",
	"goblin_queue_wait_seconds":     "Seconds that calls waited for a free slot of a server.",
	"goblin_resource_reads_total":   "Finished resources/read calls, by server, MIME type and status.",
	"goblin_sessions":               "Client sessions, by transport and protocol era.",
	"goblin_subscribers":            "Clients that are subscribed to resources of a server.",
	"goblin_subscriptions":          "Resources of a server that clients are subscribed to.",
	"mcpResourceReadsTotal":         "Finished resources/read calls, the same numbers as goblin_resource_reads_total.",
}

// family announces a metric family to scrapers.
func family(b *strings.Builder, name, kind string) {
	fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help[name], name, kind)
}

// runtimeHelp describes families of the Go runtime and of the process whose names do not explain them.
var runtimeHelp = map[string]string{
	"go_gc_duration_seconds":        "Quantiles of the pauses of garbage collections, in seconds.",
	"go_gc_pauses_seconds_bucket":   "Pauses of the garbage collector, by their upper bound in seconds.",
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

// withHelp writes text, which consists of samples without comments, with a HELP line before each family. It writes no TYPE lines,
// because some names have suffixes that belong to other types.
func withHelp(b *strings.Builder, text string) {
	last := ""
	for line := range strings.Lines(text) {
		name := line[:strings.IndexAny(line+"{", "{ \n")]
		if name != last && name != "" && name[0] != '#' {
			fmt.Fprintf(b, "# HELP %s %s\n", name, runtimeHelpOf(name))
			last = name
		}
		b.WriteString(line)
	}
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

package status

// Types of families.
const (
	counter = "counter"
	gauge   = "gauge"
	histo   = "histogram"
	untyped = "untyped"
)

// Family describes a family of metrics that the gateway itself counts.
type Family struct {
	Name   string
	Type   string   // counter, gauge or histogram
	Labels []string // all labels that a sample may have, except le
	Help   string   // with the unit
}

// Families returns the gateway's own families, in the order of docs/metrics.md.
func Families() []Family { return families }

var families = []Family{
	{"goblin_backend_up", gauge, labels("server", "replica"), "1 while the connection that lists a replica's items is ready, else 0."},
	{"goblin_backend_restarts_total", counter, labels("server", "replica"), "Connection attempts to a replica after the first one, including those of the command restart."},
	{"goblin_backend_state_seconds", gauge, labels("server", "replica", "state"), "Seconds since a replica entered its current state, such as ready, handshaking or waiting."},
	{"goblin_backend_connections", gauge, labels("server", "replica", "state"), "Connections to a replica, by state (ready or other)."},
	{"goblin_calls_total", counter, labels("server", "method", "outcome"), "Finished calls, by server, method and outcome."},
	{"goblin_call_seconds", histo, labels("server", "method"), "Seconds from the arrival of a call to its answer."},
	{"goblin_in_flight", gauge, labels("server"), "Calls that a server has not answered yet, including those that wait for a client."},
	{"goblin_queue_depth", gauge, labels("server"), "Calls that wait for a free slot of a server."},
	{"goblin_queue_wait_seconds", histo, labels("server"), "Seconds that queued calls waited until they were sent to a server. Calls that did not wait are not counted."},
	{"goblin_parked_calls", gauge, nil, "Calls that wait for a client to answer a server request."},
	{"goblin_resource_reads_total", counter, labels("server", "mime_type", "status"), "Finished resources/read calls, by server, MIME type and status (success or failure)."},
	{"mcpResourceReadsTotal", counter, labels("serverId", "mimeType", "status"), "The same numbers as goblin_resource_reads_total, under the name that a requirement prescribes."},
	{"goblin_tool_calls_total", counter, labels("server", "tool", "outcome"), "Finished tools/call calls, by server, the server's name of the tool and outcome (ok, failed or refused); _OTHER = tools without a label of their own."},
	{"goblin_tool_seconds_total", counter, labels("server", "tool"), "Seconds from the arrival of calls of a tool to their answers, in total."},
	{"goblin_policy_denied_total", counter, labels("server", "kind", "mode"), "Requests that no role permits, by mode of the policy: denied (enforce) or only reported (report)."},

	{"mcp_server_operation_duration_seconds", histo, labels("mcp_method_name", "gen_ai_operation_name", "error_type", "rpc_response_status_code", "mcp_protocol_version", "network_transport", "network_protocol_name"),
		"Seconds from the arrival of a client's request to its answer; also requests that the gateway answers itself."},
	{"mcp_client_operation_duration_seconds", histo, labels("goblin_server_name", "mcp_method_name", "gen_ai_operation_name", "error_type", "rpc_response_status_code"),
		"Seconds from the write of a request to a server to its answer, without the wait in the queue."},
	{"mcp_server_session_duration_seconds", histo, labels("mcp_protocol_version", "network_transport", "network_protocol_name"),
		"Seconds that a client's session lasted, counted when it ends."},
	{"mcp_client_session_duration_seconds", histo, labels("goblin_server_name", "network_transport", "network_protocol_name"),
		"Seconds that a connection to a server lasted, counted when it ends."},

	{"goblin_sessions", gauge, labels("transport", "era"), "Client sessions (era legacy) and subscription streams of clients without sessions (era modern), by transport."},
	{"goblin_subscriptions", gauge, labels("server"), "Resources of a server that clients are subscribed to."},
	{"goblin_subscribers", gauge, labels("server"), "Subscriptions of clients to resources of a server."},
	{"goblin_notifications_total", counter, labels("kind", "outcome"), "Notifications to clients, by kind and outcome (delivered, coalesced or dropped)."},
	{"goblin_bytes_total", counter, labels("side", "direction"), "Bytes of messages, by peers (clients or servers) and direction (in to or out of the gateway)."},

	{"goblin_catalog_version", gauge, nil, "Version of the catalog, which increases with each change."},
	{"goblin_catalog_items", gauge, labels("server", "kind"), "Items that a server offers, by kind."},
	{"goblin_config_reload_failed", gauge, nil, "1 while the current configuration file is rejected and the previous one is in force, else 0."},
	{"goblin_audit_sequence", gauge, nil, "Number of the newest line of the audit log."},
	{"goblin_audit_signed_sequence", gauge, nil, "Number of the newest line of the audit log that a signature covers."},
	{"goblin_audit_dropped_total", counter, nil, "Audit records dropped since the start."},
	{"goblin_audit_failing", gauge, nil, "1 while the audit log cannot be written, else 0."},
	{"goblin_cluster_members", gauge, nil, "Nodes of the cluster that this node knows as members, including itself; absent without a cluster."},
	{"goblin_cluster_guests", gauge, nil, "Sessions that this node serves although another node is their home; absent without a cluster."},
	{"goblin_cluster_relays_total", counter, nil, "Requests and streams that this node passed on to other nodes, repeated attempts included; absent without a cluster."},
	{"goblin_cluster_hops_total", counter, nil, "Finished calls of clients of this node that another node executed; absent without a cluster."},
	{"goblin_cluster_moved_total", counter, nil, "Sessions whose home this node became because their former home was gone or stopped; absent without a cluster."},
	{"goblin_cluster_notes_refused_total", counter, nil, "Notes about sessions of other nodes that this node had no room for: their subscriptions may be lost; absent without a cluster."},
	{"goblin_cluster_lease", gauge, labels("server"), "1 if this node has the lease of a server with run: one, else 0."},
	{"goblin_actor_mailbox_depth", gauge, labels("kind"), "Messages that wait in the mailboxes of actors, by kind of actor; near 0 unless an actor hangs or is overloaded."},
	{"goblin_actor_restarts_total", counter, labels("kind"), "Restarts of actors after a panic, by kind of actor."},
}

func labels(names ...string) []string { return names }

var familyOf = func() map[string]Family {
	all := make(map[string]Family, len(families))
	for _, f := range families {
		all[f.Name] = f
	}
	return all
}()

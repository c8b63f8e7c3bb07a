package status

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"goblin-actor/protocol"
)

var operationNames = [OperationMetrics]string{"mcp_server_operation_duration_seconds", "mcp_client_operation_duration_seconds", "mcp_server_session_duration_seconds", "mcp_client_session_duration_seconds"}

// writeTo writes the metrics with the names that an OpenTelemetry collector gives them. Tools and prompts are not
// distinguished, because there may be thousands.
func (o *Operations) writeTo(p *page) {
	for m, name := range operationNames {
		p.family(name)
		all := map[string]*DurationSeries{} // by labels
		for _, s := range o.durations[m].Series() {
			s.Key.Item = ""
			labels := s.Key.labels(OperationMetric(m))
			if sum := all[labels]; sum != nil {
				sum.add(&s)
			} else {
				all[labels] = &s
			}
		}
		for _, labels := range sorted(all) {
			all[labels].writeTo(p, name, labels)
		}
	}
}

func (s *DurationSeries) writeTo(p *page, name, labels string) {
	total := s.Total()
	if total == 0 {
		return
	}
	prefix := labels
	if prefix != "" {
		prefix += ","
	}
	var below uint64
	for i, n := range s.Counts {
		le := "+Inf"
		if below += n; i < len(DurationBounds) {
			le = p.bound(DurationBounds[i])
		}
		fmt.Fprintf(p, "%s_bucket{%sle=%q} %d", name, prefix, le, below)
		if e := s.Exemplars[i]; e != nil && p.open {
			fmt.Fprintf(p, " # {trace_id=%q,span_id=%q} %g %.3f", hex.EncodeToString(e.Trace[:]), hex.EncodeToString(e.Span[:]), e.Seconds, float64(e.At.UnixMilli())/1e3)
		}
		p.WriteByte('\n')
	}
	fmt.Fprintf(p, "%s_sum{%s} %g\n", name, labels, s.Sum)
	fmt.Fprintf(p, "%s_count{%s} %d\n", name, labels, total)
}

// labels returns the attributes of the semantic conventions as labels, sorted by name.
func (k DurationKey) labels(m OperationMetric) string {
	var all []string
	add := func(name, value string) {
		if value != "" {
			all = append(all, name+"="+strconv.Quote(value))
		}
	}
	if m == ServerOperation || m == ClientOperation {
		method := k.Method.String()
		if k.Method == protocol.MethodOther {
			method = OtherError
		}
		add("mcp_method_name", method)
		if k.Method == protocol.MethodToolsCall {
			add("gen_ai_operation_name", "execute_tool")
		}
	}
	add("error_type", k.Error)
	if _, err := strconv.Atoi(k.Error); err == nil {
		add("rpc_response_status_code", k.Error)
	}
	add("mcp_protocol_version", k.Version)
	switch k.Transport {
	case "":
	case "stdio":
		add("network_transport", "pipe")
	default:
		add("network_transport", "tcp")
		add("network_protocol_name", "http")
	}
	add("goblin_server_name", k.Server)
	slices.Sort(all)
	return strings.Join(all, ",")
}

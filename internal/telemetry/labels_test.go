package telemetry

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/status"
	"goblin-actor/protocol"
)

// S0.10.5: a series has the same attributes in /metrics and in OTLP, except for the tool or prompt.
func TestAttributesAreThoseOfTheMetricsPage(t *testing.T) {
	m, o := status.NewMetrics(), status.NewOperations(true)
	m.ShareOperations(o)
	began := time.Unix(100, 0)
	m.Answered(&status.Answer{Method: protocol.MethodToolsCall, Item: "files_read", Version: "2025-11-25", Transport: "http", Error: "-32602"})
	m.Answered(&status.Answer{Method: protocol.MethodOther, Transport: "stdio", Error: "tool_error"})
	files := m.Server("files")
	files.Ended(status.Ended{Method: protocol.MethodToolsCall, Item: "read", Outcome: status.OutcomeTimeout, Began: began, Sent: began})
	m.SessionEnded("sse", "2024-11-05", began)
	files.SessionEnded("stdio", "", began)
	var page strings.Builder
	if err := m.Write(&page); err != nil {
		t.Fatal(err)
	}
	for metric := range status.OperationMetric(status.OperationMetrics) {
		for _, s := range o.Series(metric) {
			var labels []string
			attributes := attributesOf(metric, s.Key)
			for _, a := range attributes.ToSlice() {
				if key := string(a.Key); key != "gen_ai.tool.name" && key != "gen_ai.prompt.name" {
					labels = append(labels, fmt.Sprintf("%s=%q", strings.ReplaceAll(key, ".", "_"), a.Value.AsString()))
				}
			}
			slices.Sort(labels)
			if want := strings.ReplaceAll(familyNames[metric].name, ".", "_") + "_seconds_count{" + strings.Join(labels, ",") + "} 1\n"; !strings.Contains(page.String(), want) {
				t.Errorf("/metrics has no sample %s", want)
			}
		}
	}
}

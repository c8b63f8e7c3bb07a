package tui

import (
	"strconv"
	"strings"
)

// metricsKind shows the samples of /metrics, one per row.
var metricsKind = &Kind{
	Name:    "metrics",
	Columns: []Column{{Name: "METRIC", Sort: 'N'}, {Name: "VALUE", Sort: 'V', Right: true}, {Name: "LABELS", Flex: true}},
	Rows: func(p *Picture) []Row {
		var rows []Row
		for line := range strings.Lines(p.Metrics) {
			if r, ok := metricRow(strings.TrimSpace(line)); ok {
				rows = append(rows, r)
			}
		}
		return rows
	},
}

// metricRow parses a line of the Prometheus text format, name{labels} value. It skips comments and histogram buckets.
func metricRow(line string) (Row, bool) {
	at := strings.LastIndexByte(line, ' ')
	if at < 0 || strings.HasPrefix(line, "#") {
		return Row{}, false
	}
	name, labels, _ := strings.Cut(line[:at], "{")
	if strings.HasSuffix(name, "_bucket") {
		return Row{}, false
	}
	value, err := strconv.ParseFloat(line[at+1:], 64)
	if err != nil {
		return Row{}, false
	}
	labels = strings.TrimSuffix(labels, "}")
	return Row{
		ID: line[:at], Server: label(labels, "server"),
		Cells: []Cell{text(name), {Text: strconv.FormatFloat(value, 'g', 6, 64), Number: value, Trend: true}, text(strings.ReplaceAll(labels, ",", " "))},
		Detail: func() []Field {
			return fields(Field{"metric", name}, Field{"value", line[at+1:]}, Field{"labels", strings.ReplaceAll(labels, ",", "\n")})
		},
	}, true
}

// label returns the value of a label, or "". It does not decode escape sequences.
func label(labels, name string) string {
	_, rest, ok := strings.Cut(","+labels, ","+name+`="`)
	if !ok {
		return ""
	}
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

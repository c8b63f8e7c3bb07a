package tui

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// metricsKind shows the series of /metrics, one per row. A histogram is one row. The series of the Go runtime
// and the process are shown only with all columns.
var metricsKind = &Kind{
	Name: "metrics",
	Columns: []Column{{Name: "METRIC", Sort: 'N'}, {Name: "NOW", Sort: 'V', Right: true}, {Name: "PER S", Sort: 'P', Right: true}, {Name: "5 MIN", Wide: true, Spare: true},
		{Name: "QUANTILES", Wide: true, Spare: true}, {Name: "LABELS", Flex: true}},
	Rows: func(p *Picture) []Row {
		all := parseMetrics(p.Metrics)
		rows := make([]Row, len(all))
		for i := range all {
			rows[i] = metricRow(&all[i], p.samples, p.Now)
		}
		return rows
	},
}

func metricRow(m *metric, samples []sample, now time.Time) Row {
	value := strconv.FormatFloat(m.value, 'g', 6, 64)
	per, quantiles := none(), m.quantiles()
	if rise, known := m.perSecond(samples, now); known {
		per = Cell{Text: rate(rise), Number: rise}
	}
	values := shownLabels(m.labels)
	return Row{
		ID: m.id(), Server: serverLabel(m.labels), Extra: strings.HasPrefix(m.name, "go_") || strings.HasPrefix(m.name, "process_"), Copy: m.id(),
		Cells: []Cell{text(m.name), {Text: value, Number: m.value, Trend: true}, per, {Text: m.history(samples)}, text(quantiles), text(values)},
		Detail: func() []Field {
			all := []Field{{"metric", m.name}, {"type", m.kind}, {"value", value}, {"per second", strings.TrimPrefix(per.Text, "–")}, {"quantiles", quantiles}, {"labels", strings.ReplaceAll(m.labels, ",", "\n")}}
			for _, b := range m.buckets {
				all = append(all, Field{"up to " + strconv.FormatFloat(b.bound, 'g', 6, 64), strconv.FormatFloat(b.count, 'g', 12, 64)})
			}
			return fields(all...)
		},
	}
}

// shownLabels returns the values of labels, and the names of those that are not obvious.
func shownLabels(labels string) string {
	var parts []string
	for one := range strings.SplitSeq(labels, `",`) {
		name, value, ok := strings.Cut(strings.TrimSuffix(one, `"`), `="`)
		switch {
		case !ok:
			parts = append(parts, one)
		case name == "server" || name == "method" || name == "outcome" || name == "kind":
			parts = append(parts, value)
		default:
			parts = append(parts, name+"="+value)
		}
	}
	return strings.Join(parts, " ")
}

// serverLabel returns the server that one of the labels names, or "".
func serverLabel(labels string) string {
	if server := label(labels, "server"); server != "" {
		return server
	}
	return label(labels, "goblin_server_name")
}

// quantiles returns the quantiles of a histogram: "p50 1.2ms p95 4.1ms p99 18ms".
func (m *metric) quantiles() string {
	if math.IsNaN(m.quantile(.5)) {
		return ""
	}
	var parts []string
	for _, q := range []float64{.5, .95, .99} {
		value := strconv.FormatFloat(m.quantile(q), 'g', 3, 64)
		if strings.HasSuffix(m.name, "_seconds") {
			value = short(time.Duration(m.quantile(q) * 1e9))
		}
		parts = append(parts, fmt.Sprintf("p%.0f %s", q*100, value))
	}
	return strings.Join(parts, " ")
}

package status

import (
	"fmt"
	"io"
	"strings"
)

// Content types of the two formats.
const (
	PrometheusText  = "text/plain; version=0.0.4; charset=utf-8"
	OpenMetricsText = "application/openmetrics-text; version=1.0.0; charset=utf-8"
)

// page is a page of metrics in Prometheus text 0.0.4 or, if open is set, OpenMetrics 1.0.
type page struct {
	strings.Builder
	open bool
	seen map[string]bool // the families of an OpenMetrics page
}

// family announces one of the gateway's own families.
func (p *page) family(name string) {
	f := familyOf[name]
	p.announce(f.Name, f.Type, f.Help)
}

// announce writes the HELP and TYPE of a family. In OpenMetrics, the name of a counter is written here without
// _total. A counter whose name has no such suffix, or whose shortened name is already that of another family, gets the
// type unknown.
func (p *page) announce(name, kind, help string) {
	if p.open {
		name, kind = p.openName(name, kind)
		if p.seen == nil {
			p.seen = map[string]bool{}
		}
		p.seen[name] = true
	}
	fmt.Fprintf(p, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func (p *page) openName(name, kind string) (string, string) {
	switch short, ok := strings.CutSuffix(name, "_total"); {
	case kind == untyped, kind == counter && (!ok || p.seen[short]):
		return name, "unknown"
	case kind == counter:
		return short, kind
	}
	return name, kind
}

// bound formats an upper bound or quantile for a label. OpenMetrics requires a decimal point.
func (p *page) bound(v float64) string {
	text := fmt.Sprintf("%g", v)
	if p.open && !strings.ContainsAny(text, ".eIN") {
		return text + ".0"
	}
	return text
}

// writeTo writes the page to w and returns the error of w.
func (p *page) writeTo(w io.Writer) error {
	if p.open {
		p.WriteString("# EOF\n")
	}
	_, err := io.WriteString(w, p.String())
	return err
}

// WriteOpenMetrics writes all metrics in the format OpenMetrics 1.0, which has exemplars. If s is nil, it leaves out
// the gauges of the Snapshot. It returns the first error of w.
func (m *Metrics) WriteOpenMetrics(w io.Writer, s *Snapshot) error {
	p := &page{open: true}
	m.writeTo(p)
	if s != nil {
		s.writeTo(p)
	}
	return p.writeTo(w)
}

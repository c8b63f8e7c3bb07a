package tui

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"goblin-actor/internal/status"
)

// windows are the times over which rates are computed.
var windows = []time.Duration{time.Minute, 5 * time.Minute, 2 * time.Hour}

const (
	sparks      = 6                // columns of a sparkline
	manyErrors  = .05              // a server or item is limited if a greater share of its calls failed (server: in the last minute)
	longQueue   = 10               // a server is limited if its queue has not been empty for this many seconds
	maxQueueLag = 15 * time.Second // a queue that was reported longer ago is not current
)

// series returns the recent past of a server, or of the gateway if server is "". It may be nil.
func (p *Picture) series(server string) *status.Series {
	if at := slices.IndexFunc(p.rates, func(s status.Series) bool { return s.Server == server }); at >= 0 {
		return &p.rates[at]
	}
	return nil
}

// window returns the time over which rates are computed.
func (p *Picture) window() time.Duration { return windows[p.Window] }

// totals returns what a server did within the window.
func (p *Picture) totals(server string, window time.Duration) status.Totals {
	s := p.series(server)
	if s == nil {
		return status.Totals{}
	}
	return s.Over(window, time.Unix(s.Until, 0))
}

// spark returns a sparkline of a value over the window. Higher values have higher bars; all zero is a flat line. Before the
// gateway or the server started, there is a gap.
func (p *Picture) spark(server string, value func(*status.Totals) float64) string {
	s := p.series(server)
	if s == nil {
		return ""
	}
	list := s.Seconds
	if p.window() > status.MaxSeconds*time.Second {
		list = s.Minutes
	}
	var parts [sparks]status.Totals
	step := int64(p.window().Seconds()) / sparks
	from := s.Until - step*sparks
	for i := range list {
		if at := (list[i].Start - from) / step; list[i].Start >= from && at < sparks {
			parts[at].Add(&list[i])
		}
	}
	values := make([]float64, sparks)
	for i := range parts {
		parts[i].Span = time.Duration(step) * time.Second
		values[i] = value(&parts[i])
	}
	gap := int(min(max(0, (s.Since-from)/step), sparks-1))
	return strings.Repeat(" ", gap) + sparkline(values[gap:])
}

// bars are the characters of a sparkline, lowest first. The full block is not one of them, because it touches the line above.
var bars = []rune("▁▂▃▄▅▆▇")

// sparkline draws values in proportion to the highest one.
func sparkline(values []float64) string {
	highest := slices.Max(values)
	var b strings.Builder
	for _, v := range values {
		at := 0
		if highest > 0 && v > 0 {
			at = max(1, int(math.Round(v/highest*float64(len(bars)-1))))
		}
		b.WriteRune(bars[at])
	}
	return b.String()
}

func callsOf(t *status.Totals) float64  { return t.PerSecond() }
func errorsOf(t *status.Totals) float64 { return t.ErrorShare() }
func p95Of(t *status.Totals) float64    { return t.Quantile(.95).Seconds() }

// rate formats calls per second: 0, 0.4, 310.
func rate(perSecond float64) string {
	switch {
	case perSecond == 0:
		return "0"
	case perSecond < 9.95:
		return strconv.FormatFloat(max(perSecond, .1), 'f', 1, 64)
	}
	return strconv.FormatFloat(perSecond, 'f', 0, 64)
}

// rateCells returns the cells CALLS/S, ERR and P95 of a server.
func rateCells(p *Picture, server string) []Cell {
	if p.series("") == nil {
		return []Cell{none(), none(), none()}
	}
	t := p.totals(server, p.window())
	calls := Cell{Text: strings.TrimSpace(rate(t.PerSecond()) + " " + p.spark(server, callsOf)), Number: t.PerSecond()}
	if t.Calls == 0 {
		return []Cell{calls, none(), none()}
	}
	p95 := t.Quantile(.95)
	return []Cell{calls, errorCell(&t), {Text: short(p95) + " " + p.spark(server, p95Of), Number: p95.Seconds()}}
}

// errorCell returns a cell with the share of failed calls.
func errorCell(t *status.Totals) Cell {
	c := Cell{Text: percent(t.ErrorShare()), Number: t.ErrorShare()}
	if t.ErrorShare() > manyErrors {
		c.Health = Warn
	}
	return c
}

// percent formats a share: 0%, 0.2%, 6.4%, 100%.
func percent(share float64) string {
	if share == 0 || share >= .0995 {
		return fmt.Sprintf("%.0f%%", share*100)
	}
	return fmt.Sprintf("%.1f%%", max(share*100, .1))
}

// limitations returns why a server counts as limited: too many of its recent calls failed, or its queue has not been empty for too
// long. It returns nil if neither is so.
func limitations(p *Picture, s *status.Server) []string {
	var all []string
	if t := p.totals(s.Name, time.Minute); t.ErrorShare() > manyErrors {
		all = append(all, percent(t.ErrorShare())+" of the calls in the last minute failed")
	}
	if series := p.series(s.Name); series != nil && s.Queued > 0 && queuedFor(series, p.Now) >= longQueue {
		why := fmt.Sprintf("the queue has not been empty for %ds", longQueue)
		if s.QueueWaits != "" {
			why += "; calls wait for " + s.QueueWaits
		}
		all = append(all, why)
	}
	return all
}

// queuedFor returns the number of seconds, up to the newest report, for which the queue has not been empty. It returns 0 if that
// report is older than maxQueueLag.
func queuedFor(s *status.Series, now time.Time) int {
	n := 0
	if now.Sub(time.Unix(s.Until, 0)) > maxQueueLag {
		return 0
	}
	for i := len(s.Seconds) - 1; i >= 0; i-- {
		if s.Seconds[i].Queued == 0 || s.Seconds[i].Start != s.Until-int64(n)-1 {
			break
		}
		n++
	}
	return n
}

// ratesLine returns the rates of a server, or of the gateway if server is "".
func ratesLine(p *Picture, server string) line {
	var l line
	if p.series("") == nil {
		l.hint("no rates are known yet")
		return l
	}
	t := p.totals(server, p.window())
	l.hint("calls/s over " + windowName(p.window()) + " ")
	l.add(Plain, rate(t.PerSecond())+" ")
	l.add(Good, p.spark(server, callsOf))
	l.hint("  errors ")
	health := Plain
	if t.ErrorShare() > manyErrors {
		health = Warn
	}
	l.add(health, percent(t.ErrorShare())+" ")
	l.add(health, p.spark(server, errorsOf))
	for _, q := range []struct {
		name string
		of   float64
	}{{"p50", .5}, {"p95", .95}, {"p99", .99}} {
		if server == "" && q.name == "p99" {
			break
		}
		l.hint("  " + q.name + " ")
		if t.Calls == 0 {
			l.add(Plain, "–")
			continue
		}
		l.add(Plain, short(t.Quantile(q.of)))
	}
	if server != "" {
		l.hint("  in ")
		l.add(Plain, briefSize(perSecond(t.In, t.Span))+"/s")
		l.hint("  out ")
		l.add(Plain, briefSize(perSecond(t.Out, t.Span))+"/s")
	}
	return l
}

func perSecond(n uint64, span time.Duration) int64 {
	if span <= 0 {
		return 0
	}
	return int64(float64(n) / span.Seconds())
}

// windowName formats a window: 1 min, 5 min, 2 h.
func windowName(d time.Duration) string {
	if d < time.Hour {
		return fmt.Sprintf("%d min", int(d.Minutes()))
	}
	return fmt.Sprintf("%d h", int(d.Hours()))
}

// overviewHead returns the gateway's rates and its load.
func overviewHead(p *Picture, _ scope) []line {
	l := ratesLine(p, "")
	running, queued, parked := 0, 0, 0
	for i := range p.Servers {
		running += p.Servers[i].InFlight
		queued += p.Servers[i].Queued
		parked += p.Servers[i].Parked
	}
	for _, n := range []struct {
		name  string
		n     int
		alert bool
	}{{"run", running, false}, {"queue", queued, queued > 0}, {"parked", parked, false}} {
		l.hint("  " + n.name + " ")
		health := Plain
		if n.alert {
			health = Warn
		}
		l.add(health, strconv.Itoa(n.n))
	}
	if p.Process != nil {
		l.hint("  " + briefSize(int64(p.Process.RSS)) + "B" + fmt.Sprintf("  %.0f%% CPU", p.Process.CPU*100))
	}
	return []line{l}
}

package report

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
)

// textWidth is the usual width of a terminal, in characters.
const textWidth = 80

// table returns the table of all series for report.md.
func (l *Limits) table() [][]string {
	rows := [][]string{append([]string{"server", "era", "raised"}, limitColumns...)}
	rows[0][3] = "to"
	for _, s := range l.Series {
		for _, step := range s.Steps {
			rows = append(rows, append([]string{s.Server, s.Era, s.Raise}, step.cells()...))
		}
	}
	return rows
}

const limitLegend = "load (the load generator), gateway (or target), servers and other (all other programs): processor time; 100% is one core. queued: maximum number of calls waiting in the gateway. " +
	"Legacy clients speak MCP 2025-11-25 (with sessions), modern clients 2026-07-28."

var limitColumns = []string{"clients", "calls/s", "p50 ms", "p99 ms", "load", "gateway", "servers", "other", "queued", "failed"}

func (s LimitStep) cells() []string {
	millis := func(micros float64) string {
		if micros >= 1e6 {
			return fmt.Sprintf("%.0f", micros/1000)
		}
		return fmt.Sprintf("%.3g", micros/1000)
	}
	cores := func(c float64) string {
		if s.CPU.Cores == 0 {
			return "–"
		}
		return fmt.Sprintf("%.0f%%", 100*c)
	}
	return []string{fmt.Sprint(s.value()), fmt.Sprintf("%.0f", s.PerSecond), millis(s.P50), millis(s.P99), cores(s.CPU.Load), cores(s.CPU.Gateway),
		cores(s.CPU.Servers), cores(s.CPU.Other), number("%.0f", float64(s.Queued)), number("%.0f", float64(s.Failures()))}
}

// value returns the quantity that the series raises: the offered rate, the number of servers, items, sessions or
// subscribers, or the number of clients.
func (s LimitStep) value() float64 {
	switch {
	case s.Offered > 0:
		return s.Offered
	case s.Raised > 0:
		return float64(s.Raised)
	}
	return float64(s.Clients)
}

// Write writes the steps of each series and their explanation for a terminal.
func (l *Limits) Write(w io.Writer) {
	if len(l.Series) > 0 {
		fold(w, limitLegend)
		fmt.Fprintln(w)
	}
	for _, s := range l.Series {
		fold(w, s.heading())
		var rows bytes.Buffer
		t := tabwriter.NewWriter(&rows, 0, 0, 2, ' ', tabwriter.AlignRight)
		columns := slices.Clone(limitColumns)
		if s.Transport == "" { // a target
			columns[5] = "target"
		}
		columns[0] = strings.NewReplacer("rate", "rate/s", "subscribers", "subscr.").Replace(s.Raise)
		fmt.Fprintln(t, strings.Join(columns, "\t")+"\t")
		for _, step := range s.Steps {
			fmt.Fprintln(t, strings.Join(step.cells(), "\t")+"\t")
		}
		_ = t.Flush() // into memory
		for line := range strings.Lines(rows.String()) {
			fmt.Fprint(w, strings.TrimPrefix(line, "  "))
		}
		fmt.Fprintln(w)
		for _, sentence := range s.words() {
			fold(w, sentence)
		}
		fmt.Fprintln(w)
	}
	for _, note := range l.Notes {
		fold(w, note)
	}
}

func (s LimitSeries) heading() string {
	if s.Raise != "clients" && s.Raise != "rate" {
		return fmt.Sprintf("%s with increasing %s, %s clients", s.Tool, s.Raise, s.Era)
	}
	text := s.Tool
	if s.Transport != "" {
		text += " over " + s.Transport
	}
	text += ", " + s.Era + " clients"
	if s.MaxConcurrent > 0 {
		text += fmt.Sprintf(", maxConcurrent %d", s.MaxConcurrent)
	}
	return text
}

// words returns the sentences below the table of a series.
func (s LimitSeries) words() []string {
	var all []string
	if k := s.Knee; k != nil && s.Raise == "rate" {
		all = append(all, fmt.Sprintf("Sustained: %g calls/s, p50 %s, p99 %s, measured from when calls were due.", k.Offered, FormatMicros(k.P50), FormatMicros(k.P99)))
	} else if k != nil && s.Raise != "clients" {
		all = append(all, fmt.Sprintf("Sustained: %d %s, %.0f calls/s by %s, p50 %s, p99 %s, gateway RSS %.0f MiB.", k.Raised, s.Raise, k.PerSecond, FormatClients(k.Clients), FormatMicros(k.P50), FormatMicros(k.P99), k.RSS))
	} else if k != nil {
		all = append(all, fmt.Sprintf("Knee: %s, %.0f calls/s, p50 %s, p99 %s.", FormatClients(k.Clients), k.PerSecond, FormatMicros(k.P50), FormatMicros(k.P99)))
	} else {
		all = append(all, "Knee: none.")
	}
	all = append(all, fmt.Sprintf("Bottleneck: %s. %s", s.Bottleneck, s.Why))
	if s.Change != "" {
		all = append(all, "To change: "+s.Change+".")
	}
	var direct []string
	for _, d := range s.Direct {
		direct = append(direct, fmt.Sprintf("%s %.0f calls/s, p50 %s, p99 %s", FormatClients(d.Clients), d.PerSecond, FormatMicros(d.P50), FormatMicros(d.P99)))
	}
	if len(direct) > 0 {
		all = append(all, "Called directly, without the gateway: "+strings.Join(direct, "; ")+".")
	}
	answers, crossed, lost, doubled, refused := 0, 0, 0, 0, map[string]int{}
	for _, step := range slices.Concat(s.Steps, s.Direct) {
		answers, crossed, lost, doubled = answers+step.Calls, crossed+step.Crossed, lost+step.Lost, doubled+step.Doubled
		for name, n := range step.Refused {
			refused[name] += n
		}
	}
	text := fmt.Sprintf("%d calls succeeded, %d responses were lost, %d crossed", answers, lost, crossed)
	for _, name := range slices.Sorted(maps.Keys(refused)) {
		text += fmt.Sprintf(", %d %s", refused[name], name)
	}
	if s.Raise == "subscribers" {
		text += fmt.Sprintf("; %d notifications were duplicated", doubled)
	}
	return append(all, text+".")
}

// FormatClients returns "1 client" or the number of clients.
func FormatClients(n int) string {
	if n == 1 {
		return "1 client"
	}
	return fmt.Sprintf("%d clients", n)
}

// fold writes a paragraph in lines of at most textWidth columns, unless a single word is longer. It replaces control
// characters, because names come from servers.
func fold(w io.Writer, text string) {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) && !unicode.IsSpace(r) {
			return '\ufffd'
		}
		return r
	}, text)
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > textWidth {
			fmt.Fprintln(w, line)
			line = "  " + word
			continue
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	fmt.Fprintln(w, line)
}

// FormatMicros formats microseconds with a suitable unit.
func FormatMicros(micros float64) string {
	switch {
	case micros < 1000:
		return fmt.Sprintf("%.0f µs", micros)
	case micros < 100_000:
		return fmt.Sprintf("%.1f ms", micros/1000)
	case micros < float64(time.Second.Microseconds()):
		return fmt.Sprintf("%.0f ms", micros/1000)
	}
	return fmt.Sprintf("%.1f s", micros/1e6)
}

package serve

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/pattern"
	"goblin-actor/internal/status"
)

const (
	readyPause    = 30 * time.Millisecond // servers that become ready within this time are reported together
	startingAfter = 5 * time.Second       // after this time, servers that are still starting are listed
	maxFaults     = 1000                  // maximum number of distinct faults that are counted; beyond it, counting starts again
	nameColumns   = 12                    // minimum width of the server names
	reasonLength  = 300                   // maximum length of a fault, in characters
	textIndent    = 11                    // width of the time and the mark before the text
)

// volatile matches the parts of a fault that differ at each occurrence: times of day and durations.
var volatile = pattern.Lazy(`[0-9:.TZ-]*[0-9]{2}:[0-9]{2}(:[0-9]{2})?[0-9:.TZ-]*|([0-9.]+(µs|ms|s|m|h))+`)

// terminalLog is a slog.Handler that prints the log of serve on a terminal: a line for each server that becomes ready,
// faults, reloads and the shutdown. A fault that occurs again is only printed at its tenth, hundredth, … occurrence.
// "goblin-actor logs" shows the rest. With log.level debug, it prints the same log as to a pipe.
type terminalLog struct {
	*terminalLines
	text  slog.Handler // the log for pipes
	attrs []slog.Attr
}

// terminalLines is the output that all loggers derived from a terminalLog share. It is safe for concurrent use.
type terminalLines struct {
	level slog.Leveler
	w     io.Writer
	p     terminal.Palette
	known func(string) string // removes known secrets; may be nil
	ready chan struct{}       // signals that a server may be ready or disabled; capacity 1

	mu     sync.Mutex
	faults map[string]int       // number of occurrences, by server and text
	shown  map[string]bool      // servers that have been reported as ready
	since  map[string]time.Time // start time by server; "" = that of all servers without an entry
}

func newTerminalLog(w io.Writer, text slog.Handler, level slog.Leveler, now time.Time) *terminalLog {
	return &terminalLog{text: text, terminalLines: &terminalLines{
		level: level, w: w, p: terminal.PaletteFor(w), ready: make(chan struct{}, 1),
		faults: map[string]int{}, shown: map[string]bool{}, since: map[string]time.Time{"": now},
	}}
}

// Enabled implements slog.Handler.
func (t *terminalLog) Enabled(_ context.Context, level slog.Level) bool {
	return level >= t.level.Level()
}

// WithAttrs implements slog.Handler.
func (t *terminalLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &terminalLog{t.terminalLines, t.text.WithAttrs(attrs), append(t.attrs[:len(t.attrs):len(t.attrs)], attrs...)}
}

// WithGroup implements slog.Handler. The gateway's log uses no groups.
func (t *terminalLog) WithGroup(name string) slog.Handler {
	return &terminalLog{t.terminalLines, t.text.WithGroup(name), t.attrs}
}

// Handle implements slog.Handler.
func (t *terminalLog) Handle(ctx context.Context, record slog.Record) error {
	if t.level.Level() < slog.LevelInfo {
		return t.text.Handle(ctx, record)
	}
	server, reason, rest := "", "", []string{}
	take := func(a slog.Attr) bool {
		value := a.Value.Resolve().String()
		switch a.Key {
		case "server":
			server = value
		case "reason", "err", "warning":
			reason = value
		default:
			rest = append(rest, a.Key+" "+value)
		}
		return true
	}
	for _, a := range t.attrs {
		take(a)
	}
	record.Attrs(take)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case record.Message == status.LogServerReady:
		t.checkReady()
	case record.Message == status.LogServerUnavailable:
		t.since[server] = record.Time
		delete(t.shown, server)
		t.fault(record.Time, t.p.Bad("✗"), server, reason)
	case record.Message == status.LogReloaded:
		t.since[""] = record.Time
		t.forget("", strings.Join(rest, " "))
		t.checkReady() // some servers may be disabled now
		t.line(record.Time, t.p.Good("↻"), "", strings.Join(append([]string{record.Message}, rest...), "; "))
	case record.Level >= slog.LevelWarn:
		mark := t.p.Warn("▲")
		if record.Level >= slog.LevelError {
			mark = t.p.Bad("✗")
		}
		words := []string{record.Message}
		if reason != "" {
			words = append(words, reason)
		}
		t.fault(record.Time, mark, server, strings.Join(words, ": ")+strings.TrimRight("  "+strings.Join(rest, "  "), " "))
	case record.Message == logDraining, record.Message == logStopped:
		t.line(record.Time, " ", "", strings.Join(append([]string{record.Message}, rest...), ", "))
	}
	return nil
}

// forget resets the faults of a server ("" = those without a server), and of all servers whose names occur in text, so
// that they are printed again. The caller must hold mu.
func (t *terminalLines) forget(server, text string) {
	for key := range t.faults {
		if of, _, _ := strings.Cut(key, "\x00"); of == server || of != "" && strings.Contains(text, of) {
			delete(t.faults, key)
		}
	}
}

// checkReady makes follow check which servers have become ready.
func (t *terminalLines) checkReady() {
	select {
	case t.ready <- struct{}{}:
	default:
	}
}

// fault prints a fault at its first occurrence, and when the number of its occurrences is a power of ten. The caller must
// hold mu.
func (t *terminalLines) fault(at time.Time, mark, server, text string) {
	if len(t.faults) > maxFaults {
		clear(t.faults)
	}
	key := server + "\x00" + volatile().ReplaceAllString(text, "")
	t.faults[key]++
	n := t.faults[key]
	for power := 10; n > 1; power *= 10 {
		if n == power {
			text = fmt.Sprintf("%d times so far: %s", n, text)
			break
		}
		if n < power {
			return
		}
	}
	t.line(at, mark, server, text)
}

// line prints a line. The caller must hold mu.
func (t *terminalLines) line(at time.Time, mark, server, text string) {
	if t.known != nil {
		text = t.known(text)
	}
	if server != "" {
		text = terminal.Pad(terminal.OneLine(server, 0), nameColumns) + "  " + terminal.OneLine(text, reasonLength)
	}
	text = terminal.Hang(strings.Repeat(" ", textIndent)+oneLineKeeping(text), terminal.Width(t.w), textIndent)
	fmt.Fprintf(t.w, "%s %s %s\n", at.Local().Format(time.TimeOnly), mark, text[textIndent:])
}

// follow reports servers that become ready until ctx ends. Once, after startingAfter, it reports the servers that are
// still starting. It blocks.
func (t *terminalLines) follow(ctx context.Context, snapshot func(context.Context) (*status.Snapshot, error)) {
	slow := time.After(startingAfter)
	for {
		report := t.reportReady
		select {
		case <-t.ready:
			time.Sleep(readyPause)
		case <-slow:
			report = t.reportSlow
		case <-ctx.Done():
			return
		}
		if s, err := snapshot(ctx); err == nil {
			report(s, time.Now())
		}
	}
}

// reportSlow lists the servers that have neither become ready nor failed, and names a likely reason.
func (t *terminalLines) reportSlow(s *status.Snapshot, now time.Time) {
	if len(s.Waiting) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.line(now, t.p.Warn("…"), "", "still starting: "+terminal.Names(s.Waiting)+" (npx and uvx download packages on their first run)")
}

// reportReady prints a line for each server that has become ready since the last check.
func (t *terminalLines) reportReady(s *status.Snapshot, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	enabled, width := 0, nameColumns
	for _, v := range s.Servers {
		if v.State != "disabled" {
			enabled++
			width = min(max(width, utf8.RuneCountInString(v.Name)), 24)
		}
	}
	enabledNow := map[string]bool{}
	for _, v := range s.Servers {
		enabledNow[v.Name] = v.State != "disabled"
		if v.State != "ready" || t.shown[v.Name] {
			continue
		}
		began, own := t.since[v.Name]
		if !own {
			began = t.since[""]
		}
		t.shown[v.Name] = true
		t.forget(v.Name, "")
		_, offer, _ := strings.Cut(output.Offer(&v), ", ")
		left := fmt.Sprintf("%s  ready  %s  %.1f s", terminal.Pad(terminal.OneLine(v.Name, 24), width), offer, now.Sub(began).Seconds())
		t.line(now, t.p.Good("✓"), "", fmt.Sprintf("%-52s  %d of %d ready", left, t.count(s.Servers), enabled))
	}
	for name := range t.shown { // a server that was removed or disabled is reported again when it returns
		if !enabledNow[name] {
			delete(t.shown, name)
			delete(t.since, name)
		}
	}
}

// count returns how many of the servers have been reported as ready. The caller must hold mu.
func (t *terminalLines) count(servers []status.Server) int {
	n := 0
	for _, v := range servers {
		if t.shown[v.Name] {
			n++
		}
	}
	return n
}

// oneLineKeeping escapes s and replaces line breaks. Unlike terminal.OneLine, it keeps runs of spaces, which form
// columns.
func oneLineKeeping(s string) string {
	return terminal.Clean(strings.NewReplacer("\r", "", "\n", "; ", "\t", " ").Replace(s))
}

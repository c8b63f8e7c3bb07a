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
	readyPause   = 30 * time.Millisecond // servers that get ready together are looked up together
	silence      = 5 * time.Second       // after which those that still start are named
	maxTold      = 1000                  // different faults that are counted; beyond that all are told again
	nameColumns  = 12                    // a server's name, unless one is longer
	reasonLength = 300                   // of a fault, in characters
	textBegins   = 11                    // before the text of a line: the time and a mark
)

// passing is what of a fault differs each time it comes: times of day, and how long something took.
var passing = pattern.Lazy(`[0-9:.TZ-]*[0-9]{2}:[0-9]{2}(:[0-9]{2})?[0-9:.TZ-]*|([0-9.]+(µs|ms|s|m|h))+`)

// terminalLog is what serve prints for the person who started it: a line for each server that gets ready, and each fault once;
// "goblin-actor logs" has the rest. It is a slog.Handler. With log.level debug it is the log as in a pipe.
type terminalLog struct {
	*terminalLines
	text  slog.Handler // what pipes get
	attrs []slog.Attr
}

// terminalLines are what the loggers of one program print. Safe from any goroutine.
type terminalLines struct {
	level slog.Leveler
	w     io.Writer
	p     terminal.Palette
	known func(string) string // the text without what is known to be secret; nil = as it is
	ready chan struct{}       // a server may be ready, or off; capacity 1

	mu    sync.Mutex
	told  map[string]int       // how often each fault came
	shown map[string]bool      // servers whose being ready was told
	since map[string]time.Time // when the server began to start; "" = all that are not in it
}

func newTerminalLog(w io.Writer, text slog.Handler, level slog.Leveler, now time.Time) *terminalLog {
	return &terminalLog{text: text, terminalLines: &terminalLines{
		level: level, w: w, p: terminal.PaletteFor(w), ready: make(chan struct{}, 1),
		told: map[string]int{}, shown: map[string]bool{}, since: map[string]time.Time{"": now},
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

// WithGroup implements slog.Handler; nobody groups keys here.
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
		t.look()
	case record.Message == status.LogServerUnavailable:
		t.since[server] = record.Time
		delete(t.shown, server)
		t.fault(record.Time, t.p.Bad("✗"), server, reason)
	case record.Message == status.LogReloaded:
		t.since[""] = record.Time
		t.forget("", strings.Join(rest, " "))
		t.look() // some may be off now
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

// forget has faults told anew that the gateway had, and servers that are among the words. mu is held.
func (t *terminalLines) forget(server, words string) {
	for key := range t.told {
		if of, _, _ := strings.Cut(key, "\x00"); of == server || of != "" && strings.Contains(words, of) {
			delete(t.told, key)
		}
	}
}

// look has the servers looked at.
func (t *terminalLines) look() {
	select {
	case t.ready <- struct{}{}:
	default:
	}
}

// fault tells one when it comes for the first time, then when it has come ten, a hundred, a thousand times. mu is held.
func (t *terminalLines) fault(at time.Time, mark, server, text string) {
	if len(t.told) > maxTold {
		clear(t.told)
	}
	key := server + "\x00" + passing().ReplaceAllString(text, "")
	t.told[key]++
	n := t.told[key]
	for power := 10; n > 1; power *= 10 {
		if n == power {
			text = fmt.Sprintf("%d times now: %s", n, text)
			break
		}
		if n < power {
			return
		}
	}
	t.line(at, mark, server, text)
}

// line prints one. mu is held.
func (t *terminalLines) line(at time.Time, mark, server, text string) {
	if t.known != nil {
		text = t.known(text)
	}
	if server != "" {
		text = terminal.Pad(terminal.OneLine(server, 0), nameColumns) + "  " + terminal.OneLine(text, reasonLength)
	}
	text = terminal.Hang(strings.Repeat(" ", textBegins)+oneLineKeeping(text), terminal.Width(t.w), textBegins)
	fmt.Fprintf(t.w, "%s %s %s\n", at.Local().Format(time.TimeOnly), mark, text[textBegins:])
}

// follow tells of the servers that get ready until ctx ends. The caller starts it as a goroutine.
func (t *terminalLines) follow(ctx context.Context, snapshot func(context.Context) (*status.Snapshot, error)) {
	slow := time.After(silence)
	for {
		tell := t.tell
		select {
		case <-t.ready:
			time.Sleep(readyPause)
		case <-slow:
			tell = t.tellSlow
		case <-ctx.Done():
			return
		}
		if s, err := snapshot(ctx); err == nil {
			tell(s, time.Now())
		}
	}
}

// tellSlow names the servers that have neither got ready nor failed yet: whoever waits for them is to know that it is the
// servers, and what may keep them.
func (t *terminalLines) tellSlow(s *status.Snapshot, now time.Time) {
	if len(s.Waiting) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.line(now, t.p.Warn("…"), "", "still starting: "+terminal.Names(s.Waiting)+" (npx and uvx download what they run for the first time)")
}

// tell prints a line for each server that is ready and was not when it was last looked.
func (t *terminalLines) tell(s *status.Snapshot, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	enabled, width := 0, nameColumns
	for _, v := range s.Servers {
		if v.State != "disabled" {
			enabled++
			width = min(max(width, utf8.RuneCountInString(v.Name)), 24)
		}
	}
	there := map[string]bool{}
	for _, v := range s.Servers {
		there[v.Name] = v.State != "disabled"
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
	for name := range t.shown { // a server that was taken out, or off, is told of again when it comes back
		if !there[name] {
			delete(t.shown, name)
			delete(t.since, name)
		}
	}
}

// count is how many servers have been told to be ready, of those there are. mu is held.
func (t *terminalLines) count(servers []status.Server) int {
	n := 0
	for _, v := range servers {
		if t.shown[v.Name] {
			n++
		}
	}
	return n
}

// oneLineKeeping is clean without line breaks; blanks that make columns stay.
func oneLineKeeping(s string) string {
	return terminal.Clean(strings.NewReplacer("\r", "", "\n", "; ", "\t", " ").Replace(s))
}

package status

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// Bounds of what is remembered: 1024 events of at most 2 KiB.
const (
	maxEvents    = 1024
	maxEventText = 2048
)

// Event is something that happened: a line of the log.
type Event struct {
	Number  uint64    `json:"number"` // from 1, without gaps
	Time    time.Time `json:"time"`
	Level   string    `json:"level"` // DEBUG INFO WARN ERROR
	Message string    `json:"message"`
	Server  string    `json:"server,omitempty"` // value of the key "server"
	Fields  string    `json:"fields,omitempty"` // all other keys: k=v k=v
}

// Events remembers the newest log lines. Safe from any goroutine; nothing in it blocks. The zero value is ready.
//
//	log := slog.New(events.Record(slog.NewTextHandler(os.Stderr, nil)))
type Events struct {
	// Known is the text without what is known to be secret; set before the first line. nil = as it is.
	Known func(text string) string

	mu   sync.Mutex
	ring []Event
	last uint64

	tails map[string]*tail // by server
	lines uint64           // in all tails, ever
}

// After returns the remembered events with a number above after, oldest first.
func (e *Events) After(after uint64) []Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := min(uint64(len(e.ring)), e.last-min(after, e.last))
	out := make([]Event, 0, n)
	for number := e.last - n + 1; number <= e.last; number++ {
		out = append(out, e.ring[(number-1)%maxEvents])
	}
	return out
}

func (e *Events) add(event Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.remember(event)
	e.last++
	event.Number = e.last
	if len(e.ring) < maxEvents {
		e.ring = append(e.ring, event)
	} else {
		e.ring[(e.last-1)%maxEvents] = event
	}
}

// Record returns a handler that remembers what next is given, and gives it to next.
func (e *Events) Record(next slog.Handler) slog.Handler { return &recorder{events: e, next: next} }

// recorder is one logger's view of Events.
type recorder struct {
	events *Events
	next   slog.Handler
	attrs  []slog.Attr // of With, groups resolved
	group  string      // prefix of keys: "a.b."
	server bool        // the logger is a server's: what that writes itself is remembered at any level
}

// Enabled implements slog.Handler.
func (r *recorder) Enabled(ctx context.Context, level slog.Level) bool {
	return r.server || r.next.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (r *recorder) Handle(ctx context.Context, record slog.Record) error {
	own, shown := ownLine(&record), r.next.Enabled(ctx, record.Level)
	if own != "" && r.server {
		r.own(own, record)
	}
	if !shown {
		return nil
	}
	event := Event{Time: record.Time, Level: record.Level.String(), Message: r.events.shown(record.Message)}
	var fields strings.Builder
	take := func(a slog.Attr) bool {
		value := a.Value.Resolve().String() // Resolve: secrets print themselves as [redacted]
		if a.Key == "server" {
			event.Server = r.events.shown(value)
			return true
		}
		if fields.Len() < maxEventText {
			if fields.Len() > 0 {
				fields.WriteByte(' ')
			}
			fields.WriteString(a.Key + "=" + r.events.shown(value))
		}
		return true
	}
	for _, a := range r.attrs {
		take(a)
	}
	record.Attrs(func(a slog.Attr) bool { a.Key = r.group + a.Key; return take(a) })
	event.Fields = cut(fields.String())
	r.events.add(event)
	return r.next.Handle(ctx, record)
}

// own remembers a line that the server wrote itself.
func (r *recorder) own(level string, record slog.Record) {
	event := Event{Time: record.Time, Level: level}
	for _, a := range r.attrs {
		if a.Key == "server" {
			event.Server = r.events.shown(a.Value.String())
		}
	}
	record.Attrs(func(a slog.Attr) bool {
		if a.Key == LineKey {
			event.Message = r.events.shown(a.Value.Resolve().String())
		}
		return true
	})
	r.events.mu.Lock()
	defer r.events.mu.Unlock()
	r.events.remember(event)
}

// WithAttrs implements slog.Handler.
func (r *recorder) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *r
	c.next = r.next.WithAttrs(attrs)
	c.attrs = slices.Clone(r.attrs)
	for _, a := range attrs {
		a.Key = r.group + a.Key
		c.server = c.server || a.Key == "server"
		c.attrs = append(c.attrs, a)
	}
	return &c
}

// WithGroup implements slog.Handler.
func (r *recorder) WithGroup(name string) slog.Handler {
	c := *r
	c.next, c.group = r.next.WithGroup(name), r.group+name+"."
	return &c
}

// shown is a text as it is remembered.
func (e *Events) shown(s string) string {
	if e.Known != nil {
		s = e.Known(s)
	}
	return cut(s)
}

func cut(s string) string { return Cut(s, maxEventText) }

// Cut returns s, or that many bytes of it and a sign that there is more. By that sign those who look for secrets know where the beginning of one may stand.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

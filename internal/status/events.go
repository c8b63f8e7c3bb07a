package status

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// Limits of stored events. maxEventText limits each text of an event, in bytes.
const (
	maxEvents    = 1024
	maxEventText = 2048
)

// Event is a line of the log, or a line that a server itself wrote.
type Event struct {
	Number  uint64    `json:"number"` // from 1, without gaps; Events.Lines numbers its lines independently
	Time    time.Time `json:"time"`
	Level   string    `json:"level"` // DEBUG, INFO, WARN or ERROR; for a server's own line LevelStderr or LevelLogged
	Message string    `json:"message"`
	Server  string    `json:"server,omitempty"` // value of the log key "server"
	Fields  string    `json:"fields,omitempty"` // all other keys, as k=v k=v
}

// Events stores the last log lines. It is safe for concurrent use and never blocks. The zero value is ready.
//
//	log := slog.New(events.Record(slog.NewTextHandler(os.Stderr, nil)))
type Events struct {
	// Known returns a text without known secrets. Set it before the first line. nil = unchanged.
	Known func(text string) string

	mu   sync.Mutex
	ring []Event
	last uint64

	tails map[string]*tail // by server
	lines uint64           // number of the last line in any tail
}

// After returns the stored events with a number above after, oldest first.
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

// newest returns the numbers of the last event and of the last line.
func (e *Events) newest() (event, line uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last, e.lines
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

// Record returns a handler that stores records and passes them to next.
func (e *Events) Record(next slog.Handler) slog.Handler { return &recorder{events: e, next: next} }

// recorder is the handler of Events for one logger.
type recorder struct {
	events *Events
	next   slog.Handler
	attrs  []slog.Attr // attributes from WithAttrs; their keys have the group prefix
	group  string      // group prefix of keys, such as "a.b."
	server bool        // the logger has the attribute "server"; the server's own lines are stored at any level
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
		value := a.Value.Resolve().String() // Resolve calls LogValue, which redacts secrets
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

// own stores a line that the server itself wrote. level is LevelStderr or LevelLogged.
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

// shown returns a text as it is stored: without known secrets and truncated.
func (e *Events) shown(s string) string {
	if e.Known != nil {
		s = e.Known(s)
	}
	return cut(s)
}

func cut(s string) string { return Cut(s, maxEventText) }

// Cut returns s, truncated to limit bytes and followed by an ellipsis if it is longer. The ellipsis tells the secret
// filter that a secret may be truncated there.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

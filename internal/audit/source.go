package audit

import (
	"context"
	"time"
)

const (
	followInterval = 250 * time.Millisecond // between two looks for new lines
	mergeDelay     = 500 * time.Millisecond // how long Follow waits for earlier lines of other logs; nodes write lines within 0.2 s
)

// Source is a log to read for display: its files or, in a cluster, the gateway of another node. It is not safe for
// concurrent use.
type Source interface {
	// Newest returns the last n lines that the source's filter selects, oldest first.
	Newest(n int) ([]Entry, error)
	// More returns the selected lines that were added since the last call of Newest or More, in the order of the log. It
	// does not wait for lines.
	More() ([]Entry, error)
	// Close releases the source's files or connections.
	Close()
}

// LogFiles is a Source that reads the files of a log. The log need not exist yet.
type LogFiles struct {
	path, name string
	filter     Filter
	end        Position // where Newest has stopped
	follower   *follower
	added      []Entry
}

// NewLogFiles returns a source for the log at path. The parameter name is Entry.Log of its lines.
func NewLogFiles(path, name string, f Filter) *LogFiles {
	return &LogFiles{path: path, name: name, filter: f}
}

// Newest implements Source.
func (l *LogFiles) Newest(n int) (found []Entry, err error) {
	l.Close()
	found, l.end, err = Newest(l.path, l.filter, n)
	for i := range found {
		found[i].Log = l.name
	}
	return found, err
}

// More implements Source.
func (l *LogFiles) More() ([]Entry, error) {
	if l.follower == nil {
		l.follower = newFollower(l.path, l.end, l.filter, func(e Entry) error {
			e.Log = l.name
			l.added = append(l.added, e)
			return nil
		})
	}
	err := l.follower.poll()
	added := l.added
	l.added = nil
	return added, err
}

// Close implements Source.
func (l *LogFiles) Close() {
	if l.follower != nil {
		l.follower.close()
		l.follower = nil
	}
}

// Merge merges the lines of several logs by time. Lines of one log stay in its order.
func Merge(logs [][]Entry) []Entry {
	total := 0
	for _, log := range logs {
		total += len(log)
	}
	rest := append([][]Entry(nil), logs...)
	merged := make([]Entry, 0, total)
	for len(merged) < total {
		first := -1
		for i, log := range rest {
			if len(log) > 0 && (first < 0 || log[0].Time.Before(rest[first][0].Time)) {
				first = i
			}
		}
		merged, rest[first] = append(merged, rest[first][0]), rest[first][1:]
	}
	return merged
}

// Follow calls each for every line that is added to the sources. Before each look for new lines it calls current, which returns the same
// sources as before, and may append others. Of several sources Follow merges the lines by time; a line that a node writes much later than
// its time appears late. Follow returns when ctx ends, each returns an error, or a source fails.
func Follow(ctx context.Context, current func() []Source, each func(Entry) error) error {
	var pending []pendingLines
	for {
		sources := current()
		pending = append(pending, make([]pendingLines, len(sources)-len(pending))...)
		for i, source := range sources {
			added, err := source.More()
			if err != nil {
				return err
			}
			pending[i].add(added, time.Now())
		}
		delay := mergeDelay
		if len(sources) == 1 {
			delay = 0
		}
		for _, e := range Merge(takeDue(pending, time.Now().Add(-delay))) {
			if err := each(e); err != nil {
				return err
			}
		}
		select {
		case <-time.After(followInterval):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// pendingLines are lines of one log that wait for earlier lines of other logs.
type pendingLines struct {
	lines []Entry
	read  []time.Time // when each line was read
}

func (p *pendingLines) add(lines []Entry, now time.Time) {
	p.lines = append(p.lines, lines...)
	for range lines {
		p.read = append(p.read, now)
	}
}

// takeDue removes the lines that were read until the given time, and all lines that are not later than one of these.
func takeDue(pending []pendingLines, until time.Time) [][]Entry {
	var newest time.Time
	for _, p := range pending {
		for i := range p.lines {
			if at := p.lines[i].Time; !p.read[i].After(until) && at.After(newest) {
				newest = at
			}
		}
	}
	due := make([][]Entry, len(pending))
	for i := range pending {
		p := &pending[i]
		n := 0
		for n < len(p.lines) && (!p.lines[n].Time.After(newest) || !p.read[n].After(until)) {
			n++
		}
		due[i] = p.lines[:n]
		p.lines, p.read = append([]Entry(nil), p.lines[n:]...), append([]time.Time(nil), p.read[n:]...)
	}
	return due
}

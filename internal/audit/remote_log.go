package audit

import (
	"bytes"
	"fmt"
	"net/url"
	"strconv"
	"time"
)

// maxRemoteLines limits how many lines a gateway returns at once.
const maxRemoteLines = 10_000

// clockDifference is how far the clock of another node may be behind, so that More does not miss lines of a log that Newest has not read.
const clockDifference = time.Minute

// RemoteLog is a Source that asks a gateway for the lines of its log.
type RemoteLog struct {
	// Changed is called when the gateway has stopped answering More, and with nil when it answers again. nil = it is not called.
	Changed func(err error)

	name   string
	filter Filter
	get    func(query url.Values) ([]byte, error) // returns what ReadLines returns at the gateway
	from   time.Time                              // if Newest was not called, or has failed, More returns no older lines; zero = it was
	last   uint64                                 // number of the newest line that was read
	newest time.Time                              // its time
	silent bool                                   // More has failed since the gateway last answered
}

// NewRemoteLog returns a source for the log of a gateway, which get asks. The parameter name is Entry.Log of its lines.
func NewRemoteLog(name string, f Filter, get func(query url.Values) ([]byte, error)) *RemoteLog {
	return &RemoteLog{name: name, filter: f, get: get, from: time.Now().Add(-clockDifference)}
}

// Newest implements Source.
func (l *RemoteLog) Newest(n int) ([]Entry, error) {
	l.last, l.newest = 0, time.Time{}
	found, err := l.read(n, time.Time{})
	if err == nil {
		l.from = time.Time{}
	}
	return found, err
}

// More implements Source. If the gateway does not answer, it calls Changed and returns no lines; a later call returns them, at most the newest
// maxRemoteLines. If Newest has returned no lines because it failed or was not called, More returns those of the last minute before
// NewRemoteLog, and later ones.
func (l *RemoteLog) More() ([]Entry, error) {
	added, err := l.read(maxRemoteLines, l.from)
	if silent := err != nil; silent != l.silent {
		if l.silent = silent; silent && l.last > 0 { // the node may return with a new file, whose numbers begin again
			l.last, l.newest = 0, l.newest.Add(1)
		}
		if l.Changed != nil {
			l.Changed(err)
		}
	}
	if err != nil {
		return nil, nil
	}
	return added, nil
}

// Close implements Source.
func (*RemoteLog) Close() {}

// read returns the newest n lines after the last one that was read, and not older than from.
func (l *RemoteLog) read(n int, from time.Time) (found []Entry, err error) {
	if l.newest.After(from) {
		from = l.newest
	}
	page, err := l.get(l.filter.query(min(n, maxRemoteLines), l.last, from))
	if err != nil {
		return nil, err
	}
	for raw := range bytes.Lines(page) {
		raw = bytes.TrimSuffix(raw, []byte("\n"))
		line, err := ParseLine(raw)
		if err != nil {
			return nil, fmt.Errorf("line of node %s: %w", l.name, err)
		}
		found = append(found, Entry{Line: line, Raw: raw, Log: l.name})
		l.last, l.newest = line.N, line.Time
	}
	return found, nil
}

// query returns the query for the newest n lines after the line with the number last, and not older than from.
func (f *Filter) query(n int, last uint64, from time.Time) url.Values {
	q := url.Values{"n": {strconv.Itoa(n)}}
	for key, value := range map[string]string{"who": f.Who, "server": f.Server, "item": f.Item} {
		if value != "" {
			q.Set(key, value)
		}
	}
	since := f.Since
	if from.After(since) {
		since = from
	}
	if !since.IsZero() {
		q.Set("since", since.Format(time.RFC3339Nano))
	}
	if f.Brief {
		q.Set("brief", "")
	}
	if last > 0 {
		q.Set("after", strconv.FormatUint(last, 10))
	}
	return q
}

// ReadLines returns the lines of the log at path that a query of a RemoteLog selects, each with a newline.
func ReadLines(path string, q url.Values) ([]byte, error) {
	f := Filter{Who: q.Get("who"), Server: q.Get("server"), Item: q.Get("item"), Brief: q.Has("brief")}
	n, err := strconv.Atoi(q.Get("n"))
	if err != nil || n < 1 || n > maxRemoteLines {
		return nil, fmt.Errorf("n=%.20q: want a number of lines from 1 to %d", q.Get("n"), maxRemoteLines)
	}
	if text := q.Get("since"); text != "" {
		if f.Since, err = time.Parse(time.RFC3339Nano, text); err != nil {
			return nil, fmt.Errorf("since=%.40q: want a time such as 2026-11-29T08:00:00Z", text)
		}
	}
	after := uint64(0)
	if text := q.Get("after"); text != "" {
		if after, err = strconv.ParseUint(text, 10, 64); err != nil {
			return nil, fmt.Errorf("after=%.20q: want the number of a line", text)
		}
	}
	found, _, err := Newest(path, f, n)
	if err != nil {
		return nil, err
	}
	var page bytes.Buffer
	for i := range found {
		if found[i].N > after {
			page.Write(found[i].Raw)
			page.WriteByte('\n')
		}
	}
	return page.Bytes(), nil
}

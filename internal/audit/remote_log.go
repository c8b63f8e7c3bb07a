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

// RemoteLog is a Source that asks a gateway for the lines of its log.
type RemoteLog struct {
	name   string
	filter Filter
	get    func(query url.Values) ([]byte, error) // returns what ReadLines returns at the gateway
	last   uint64                                 // number of the newest line that was read
	newest time.Time                              // its time
}

// NewRemoteLog returns a source for the log of a gateway, which get asks. The parameter name is Entry.Log of its lines.
func NewRemoteLog(name string, f Filter, get func(query url.Values) ([]byte, error)) *RemoteLog {
	return &RemoteLog{name: name, filter: f, get: get}
}

// Newest implements Source.
func (l *RemoteLog) Newest(n int) ([]Entry, error) {
	l.last, l.newest = 0, time.Time{}
	return l.read(n)
}

// More implements Source. If the gateway does not answer, it returns no lines; a later call returns them, at most the newest
// maxRemoteLines.
func (l *RemoteLog) More() ([]Entry, error) {
	added, err := l.read(maxRemoteLines)
	if err != nil {
		return nil, nil
	}
	return added, nil
}

// Close implements Source.
func (*RemoteLog) Close() {}

func (l *RemoteLog) read(n int) (found []Entry, err error) {
	page, err := l.get(l.filter.query(min(n, maxRemoteLines), l.last, l.newest))
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

// query returns the query for the newest n lines after the line with the number last, which has the time newest.
func (f *Filter) query(n int, last uint64, newest time.Time) url.Values {
	q := url.Values{"n": {strconv.Itoa(n)}}
	for key, value := range map[string]string{"who": f.Who, "server": f.Server, "item": f.Item} {
		if value != "" {
			q.Set(key, value)
		}
	}
	since := f.Since
	if newest.After(since) {
		since = newest
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

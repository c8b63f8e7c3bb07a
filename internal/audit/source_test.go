package audit

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// entries returns lines of a log at the given seconds.
func entries(log string, seconds ...int) (list []Entry) {
	for _, s := range seconds {
		list = append(list, Entry{Line: Line{Time: now.Add(time.Duration(s) * time.Second)}, Log: log})
	}
	return list
}

func order(list []Entry) string {
	var text []string
	for _, e := range list {
		text = append(text, fmt.Sprintf("%s%d", e.Log, int(e.Time.Sub(now).Seconds())))
	}
	return strings.Join(text, " ")
}

// Lines are merged by time, and equal times in the order of the logs. A log whose clock was set back keeps its order.
func TestMerge(t *testing.T) {
	for _, c := range []struct {
		logs [][]Entry
		want string
	}{
		{nil, ""},
		{[][]Entry{entries("a", 1, 2), nil}, "a1 a2"},
		{[][]Entry{entries("a", 1, 3, 5), entries("b", 2, 3, 4)}, "a1 b2 a3 b3 b4 a5"},
		{[][]Entry{entries("a", 5, 1, 6), entries("b", 2, 7)}, "b2 a5 a1 a6 b7"},
	} {
		if got := order(Merge(c.logs)); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

// Follow waits for earlier lines of other logs, but not longer than mergeDelay. It keeps the order of each log.
func TestTakeDue(t *testing.T) {
	pending := make([]pendingLines, 2)
	pending[0].add(entries("a", 10, 12), now)
	pending[1].add(entries("b", 9, 11), now.Add(400*time.Millisecond))
	if due := takeDue(pending, now.Add(-1)); order(Merge(due)) != "" {
		t.Errorf("got %s before the delay", order(Merge(due)))
	}
	pending[1].add(entries("b", 13), now.Add(401*time.Millisecond))
	if due := takeDue(pending, now); order(Merge(due)) != "b9 a10 b11 a12" {
		t.Errorf("got %s after the delay", order(Merge(due)))
	}
	if due := takeDue(pending, now.Add(time.Second)); order(Merge(due)) != "b13" {
		t.Errorf("got %s at the end", order(Merge(due)))
	}
}

// Follow merges the lines of several running gateways. It passes each line on once, across rotations.
func TestFollowSeveralLogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		var logs []*Log
		var sources []Source
		for _, node := range []string{"a", "b", "c"} {
			path := filepath.Join(dir, node+".jsonl")
			source := NewLogFiles(path, path, Filter{Brief: true})
			defer source.Close()
			if _, err := source.Newest(1); err == nil {
				t.Error("a log that does not exist has lines")
			}
			sources = append(sources, source)
			s := settings(path)
			s.Size = 8 << 10
			l, err := Open(s, Options{Keys: found(nodeKeys(node)), Log: quiet(t), Node: node})
			if err != nil {
				t.Fatal(err)
			}
			logs = append(logs, l)
		}
		var got, want []string
		ctx, stop := context.WithCancelCause(t.Context())
		done := make(chan error)
		go func() {
			done <- Follow(ctx, func() []Source { return sources }, func(e Entry) error {
				got = append(got, e.Node+e.Item)
				return nil
			})
		}()
		for i := range 300 {
			r := callRecord(0)
			r.Item = fmt.Sprint(i)
			logs[i%3].Record(r)
			want = append(want, string("abc"[i%3])+r.Item)
			time.Sleep(37 * time.Millisecond)
		}
		for _, l := range logs {
			closed(t, l)
		}
		time.Sleep(time.Minute)
		enough := errors.New("enough")
		stop(enough)
		if err := <-done; !errors.Is(err, enough) {
			t.Error(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %v", got)
		}
	})
}

// oneLine is a Source with one line.
type oneLine struct {
	item string
	sent bool
}

func (*oneLine) Newest(int) ([]Entry, error) { return nil, nil }
func (*oneLine) Close()                      {}
func (s *oneLine) More() (added []Entry, err error) {
	if !s.sent {
		added = []Entry{{Line: Line{Item: s.item, Time: time.Now()}}}
	}
	s.sent = true
	return added, nil
}

// Follow reads the sources that are added while it runs.
func TestFollowAddedLogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, items := time.Now(), []string{"a", "b", "c"}
		var sources []Source
		current := func() []Source {
			for n := len(sources); n < len(items) && time.Since(began) >= time.Duration(n)*time.Second; n++ {
				sources = append(sources, &oneLine{item: items[n]})
			}
			return sources
		}
		enough := errors.New("enough")
		var got []string
		err := Follow(t.Context(), current, func(e Entry) error {
			if got = append(got, e.Item); len(got) == len(items) {
				return enough
			}
			return nil
		})
		if !errors.Is(err, enough) || !slices.Equal(got, items) {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

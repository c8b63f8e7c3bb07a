package audit

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The source of a gateway's log returns the newest lines, and then each later line once, with its filter. While the gateway does not
// answer there are none, and afterwards none is missing.
func TestRemoteLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "a.jsonl")
		l, err := Open(settings(path), Options{Keys: found(nodeKeys("a")), Log: quiet(t), Node: "a"})
		if err != nil {
			t.Fatal(err)
		}
		defer closed(t, l)
		record := func(items ...string) {
			for _, item := range items {
				r := callRecord(0)
				r.Item = item
				l.Record(r)
			}
			time.Sleep(time.Second)
		}
		var down error
		source := NewRemoteLog("a", Filter{Brief: true, Item: "x*"}, func(q url.Values) ([]byte, error) {
			if down != nil {
				return nil, down
			}
			return ReadLines(path, q)
		})
		var changes []error
		source.Changed = func(err error) { changes = append(changes, err) }
		is := func(when string, list []Entry, err error, want ...string) {
			t.Helper()
			var items []string
			for _, e := range list {
				items = append(items, e.Log+e.Item)
			}
			if err != nil || !slices.Equal(items, want) {
				t.Errorf("%s: %v, %v, want %v", when, items, err, want)
			}
		}
		record("x1", "y", "x2", "x3")
		list, err := source.Newest(2)
		is("newest", list, err, "ax2", "ax3")
		record("x4", "y", "x5")
		list, err = source.More()
		is("more", list, err, "ax4", "ax5")
		down = errors.New("refused")
		record("x6")
		list, err = source.More()
		is("down", list, err)
		if _, err := source.Newest(1); !errors.Is(err, down) {
			t.Errorf("the newest lines of a node that is down: %v", err)
		}
		down = nil
		list, err = source.More()
		is("up", list, err, "ax1", "ax2", "ax3", "ax4", "ax5", "ax6") // Newest starts from the beginning
		list, err = source.More()
		is("nothing new", list, err)
		if len(changes) != 2 || changes[0] == nil || changes[1] != nil {
			t.Errorf("reported %v, want an error and then nil", changes)
		}
		down = errors.New("refused")
		list, err = source.More()
		is("down again", list, err)
		other := filepath.Join(t.TempDir(), "a.jsonl")
		if l, err = Open(settings(other), Options{Keys: found(nodeKeys("a")), Log: quiet(t), Node: "a"}); err != nil {
			t.Fatal(err)
		}
		defer closed(t, l)
		path, down = other, nil
		record("x7")
		list, err = source.More()
		is("up with a new file, whose numbers begin again", list, err, "ax7")
		time.Sleep(time.Hour)
		late := NewRemoteLog("a", Filter{Brief: true, Item: "x*"}, func(q url.Values) ([]byte, error) { return ReadLines(path, q) })
		record("x8")
		list, err = late.More()
		is("of a node that has joined later", list, err, "ax8")
	})
}

// A query that is malformed or asks for too much is refused.
func TestReadLinesRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"": "n=", "n=0": "n=", fmt.Sprintf("n=%d", maxRemoteLines+1): "n=", "n=1&since=yesterday": "since=", "n=1&after=-1": "after=",
	} {
		q, err := url.ParseQuery(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ReadLines("none.jsonl", q); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

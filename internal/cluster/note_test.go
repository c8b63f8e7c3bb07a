package cluster

import (
	"reflect"
	"strings"
	"testing"
)

func usualNote(t testing.TB) *Note {
	return &Note{Cluster: "prod", From: home, Seq: 3, Session: idOf(t, home), Holder: "key:a", Level: "error", URIs: []string{"file:///a", "x://<&>"}}
}

func TestNotes(t *testing.T) {
	n := usualNote(t)
	if got, err := ParseNote(n.Encode()); err != nil || !reflect.DeepEqual(got, n) {
		t.Errorf("%+v, %v", got, err)
	}
	const quotes = len(`[""]`)
	if n.SetURIs([]string{strings.Repeat("x", MaxNote-quotes)}); n.TooLarge || len(n.URIs) != 1 {
		t.Error("a note of MaxNote bytes is too large")
	}
	if n.SetURIs([]string{strings.Repeat("\"", MaxNote/2)}); !n.TooLarge {
		t.Error("a note that is too large after its encoding is accepted")
	}
	n.SetURIs([]string{strings.Repeat("x", MaxNote-quotes)})
	if _, err := ParseNote(n.Encode()); err != nil {
		t.Error(err)
	}
	if n.SetURIs([]string{strings.Repeat("x", MaxNote-quotes), "y"}); !n.TooLarge || n.URIs != nil {
		t.Errorf("%v, %d URIs", n.TooLarge, len(n.URIs))
	}
	for what, change := range map[string]func(*Note){
		"cluster": func(n *Note) { n.Cluster = "" }, "from": func(n *Note) { n.From = "x" }, "session": func(n *Note) { n.Session = "1abc" },
		"holder": func(n *Note) { n.Holder = "a\nb" }, "level": func(n *Note) { n.Level = "\x00" }, "uris": func(n *Note) { n.URIs = []string{""} },
	} {
		n := usualNote(t)
		change(n)
		if _, err := ParseNote(n.Encode()); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	long := usualNote(t)
	long.URIs = []string{strings.Repeat("x", MaxNote+1)}
	if _, err := ParseNote(long.Encode()); err == nil {
		t.Error("a note that is too large is accepted")
	}
	if a, err := ParseNoteAnswer((&NoteAnswer{true}).Encode()); err != nil || !a.Kept {
		t.Errorf("%+v, %v", a, err)
	}
}

// The decoder never panics. What it accepts is bounded, and it accepts it again after encoding.
func FuzzNote(f *testing.F) {
	f.Add(usualNote(f).Encode())
	f.Add([]byte(`{"cluster":"a","from":"abcdefg2","session":"","uris":[null]}`))
	f.Fuzz(func(t *testing.T, message []byte) {
		n, err := ParseNote(message)
		if err != nil {
			return
		}
		if n.Size() > MaxNote+MaxSessionID+MaxHolder+maxText {
			t.Errorf("%d bytes", n.Size())
		}
		if again, err := ParseNote(n.Encode()); err != nil || !reflect.DeepEqual(again.Encode(), n.Encode()) {
			t.Errorf("%+v, %v", again, err)
		}
	})
}

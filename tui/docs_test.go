package tui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gdamore/tcell/v2"
)

const (
	keysBegin = "<!-- keys: generated from tui/actions.go -->\n"
	keysEnd   = "<!-- end of keys -->\n"
)

// docs/tui.md lists all keys.
func TestKeysInTheDocs(t *testing.T) {
	path := filepath.Join("..", "docs", "tui.md")
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok1 := strings.Cut(string(old), keysBegin)
	_, tail, ok2 := strings.Cut(rest, keysEnd)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no markers for the keys", path)
	}
	golden(t, path, head+keysBegin+Keys()+keysEnd+tail)
}

// Every key belongs to one action. Every sort letter belongs to one column of its view.
func TestKeysAreUnique(t *testing.T) {
	events := []*tcell.EventKey{}
	for r := rune(' '); r <= '~'; r++ {
		events = append(events, tcell.NewEventKey(tcell.KeyRune, r, tcell.ModNone))
	}
	for k := tcell.Key(0); k < 32; k++ {
		events = append(events, tcell.NewEventKey(k, 0, tcell.ModCtrl))
	}
	for _, k := range named {
		events = append(events, tcell.NewEventKey(k, 0, tcell.ModNone))
	}
	for _, e := range events {
		var who []string
		for _, a := range actions {
			if a.is(e) {
				who = append(who, a.key)
			}
		}
		if len(who) > 1 {
			t.Errorf("the key %s has several actions: %q", e.Name(), who)
		}
	}
	for _, k := range kinds {
		seen := map[rune]string{}
		for _, c := range k.Columns {
			if c.Sort != 0 && seen[c.Sort] != "" {
				t.Errorf("%s: the letter %c sorts by %s and by %s", k.Name, c.Sort, seen[c.Sort], c.Name)
			}
			seen[c.Sort] = c.Name
		}
	}
}

package terminal

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		line        string
		first, rest int
		want        []string
	}{
		{"", 10, 10, []string{""}},
		{"ten columns", 11, 5, []string{"ten columns"}},
		{"one two three four", 10, 10, []string{"one two", "three four"}},
		{"one two  three", 9, 9, []string{"one two", "three"}},
		{"a abcdefghijklmnop", 10, 10, []string{"a abcdefgh", "ijklmnop"}}, // the first piece would be too short
		{"日本語日本語", 6, 4, []string{"日本語", "日本", "語"}},
		{strings.Repeat("x", 25), 10, 5, []string{"xxxxxxxxxx", "xxxxx", "xxxxx", "xxxxx"}},
	} {
		if diff := cmp.Diff(c.want, wrap(c.line, c.first, c.rest)); diff != "" {
			t.Errorf("%q: %s", c.line, diff)
		}
	}
}

func TestHelpFitsTheTerminal(t *testing.T) {
	page := `What it does, told in a line that is longer than that.
It goes on.

Usage:
  goblin x

Examples:
  goblin x --with a --line that-is-copied-as-it-is

Flags:
      --one string   what it is for, in some words
  -h, --help         help
`
	want := `What it does, told in a line that is
longer than that. It goes on.

Usage:
  goblin x

Examples:
  goblin x --with a --line that-is-copied-as-it-is

Flags:
      --one string   what it is for, in
                     some words
  -h, --help         help
`
	if diff := cmp.Diff(want, fitted(page, 40)); diff != "" {
		t.Error(diff)
	}
}

package terminal

import (
	"bytes"
	"testing"

	"goblin-actor/internal/client"
)

// The bar is not drawn while a question is open. Output during that time is printed afterwards.
func TestPausedBar(t *testing.T) {
	var b bytes.Buffer
	bar := ProgressBar{w: &b, Live: true}
	bar.Show(client.Progress{Done: 1})
	bar.Pause()
	bar.Show(client.Progress{Done: 2})
	bar.Show(client.Progress{Done: 3})
	bar.Aside(func() { b.WriteString("aside\n") })
	b.WriteString("|")
	bar.Resume()
	bar.Clear()
	if want := "\r\x1b[K1\r\x1b[K|aside\n\r\x1b[K3\r\x1b[K"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

func TestProgressBar(t *testing.T) {
	for _, c := range []struct {
		name string
		live bool
		p    client.Progress
		want string
	}{
		{"in a pipe", false, client.Progress{Done: 1, Total: 4, Message: "on \x1b[31mit"}, "progress: 1/4 on \\x1b[31mit\n"},
		{"on a terminal", true, client.Progress{Done: 6, Total: 12}, "\r\x1b[K[############............] 6/12\r\x1b[K"},
		{"without a total", true, client.Progress{Done: 1.5}, "\r\x1b[K1.5\r\x1b[K"},
		{"beyond the total", true, client.Progress{Done: 9, Total: 3}, "\r\x1b[K[########################] 9/3\r\x1b[K"},
	} {
		var b bytes.Buffer
		bar := ProgressBar{w: &b, Live: c.live}
		bar.Show(c.p)
		bar.Clear()
		if b.String() != c.want {
			t.Errorf("%s: %q, want %q", c.name, b.String(), c.want)
		}
	}
}

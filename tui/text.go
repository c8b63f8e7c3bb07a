package tui

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/uniseg"

	"goblin-actor/internal/visible"
)

const (
	maxPlain   = 400 // maximum runes of a cell, except the text of a log line
	maxCluster = 8   // maximum runes of a character with its combining marks
)

// plain converts text from outside for a cell: one line, at most maxPlain runes, without terminal control sequences.
func plain(s string) string {
	if len(s) > maxPlain*utf8.UTFMax {
		s = s[:maxPlain*utf8.UTFMax]
	}
	if simple(s) {
		return visible.Cut(s, maxPlain)
	}
	return visible.Cut(visible.Text(strings.Join(strings.Fields(s), " ")), maxPlain)
}

// lines splits text from outside into lines for display. It makes control characters visible and expands each tab to
// four spaces.
func lines(s string) []string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\t", "    ")
	out := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i := range out {
		out[i] = visible.Text(out[i])
	}
	return out
}

// printable reports whether s is one line of printable ASCII.
func printable(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// simple reports whether s is printable and has no runs of spaces.
func simple(s string) bool { return printable(s) && !strings.Contains(s, "  ") }

// width returns the number of columns that a text occupies.
func width(s string) int {
	if printable(s) {
		return len(s)
	}
	return uniseg.StringWidth(s)
}

// put draws text at column x of line y in at most room columns and returns how many it used. Text that does not fit is
// cut with "…". mark reports which runes to highlight; nil = none.
func put(screen tcell.Screen, x, y, room int, text string, style tcell.Style, mark func(i int) bool, marked tcell.Style) int {
	if len(text) <= room && printable(text) {
		for i := range len(text) {
			s := style
			if mark != nil && mark(i) {
				s = marked
			}
			screen.Put(x+i, y, text[i:i+1], s)
		}
		return len(text)
	}
	fits := width(text) <= room
	took, at := 0, 0
	for rest, state := text, -1; rest != ""; {
		var cluster string
		var w int
		cluster, rest, w, state = uniseg.FirstGraphemeClusterInString(rest, state)
		runes := []rune(cluster)
		s := style
		if mark != nil && mark(at) {
			s = marked
		}
		at += len(runes)
		if !fits && took+w > room-1 {
			if took < room {
				screen.Put(x+took, y, "…", style)
				took++
			}
			return took
		}
		if w == 0 || visible.Hidden(runes[0]) {
			continue // plain and lines make such characters visible, so text from outside has none
		}
		screen.Put(x+took, y, string(runes[:min(len(runes), maxCluster)]), s)
		took += w
	}
	return took
}

// middle shortens a text that is wider than room in its middle, because URIs differ mostly at their ends.
func middle(s string, room int) string {
	runes := []rune(s)
	if width(s) <= room || room < 8 || len(runes) <= room {
		return s
	}
	head := (room - 1) / 3
	return string(runes[:head]) + "…" + string(runes[len(runes)-(room-1-head):])
}

// fill draws w spaces.
func fill(screen tcell.Screen, x, y, w int, style tcell.Style) {
	for i := range w {
		screen.Put(x+i, y, " ", style)
	}
}

// wrap breaks a line into pieces of at most w columns, between words if possible. A character wider than w is a piece
// of its own.
func wrap(s string, w int) []string {
	var out []string
	start, at, space, took := 0, 0, 0, 0 // start of the piece; position; just past the piece's last space; columns since start
	for rest, state := s, -1; rest != ""; {
		var cluster string
		var cw int
		cluster, rest, cw, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if cluster == " " && took+cw > w { // the space between two pieces
			out = append(out, s[start:at])
			at++
			start, took = at, 0
			continue
		}
		if took+cw > w && at > start {
			end := at
			if space > start {
				end = space
			}
			out = append(out, strings.TrimRight(s[start:end], " "))
			start, took = end, width(s[end:at])
		}
		took += cw
		at += len(cluster)
		if cluster == " " {
			space = at
		}
	}
	return append(out, s[start:])
}

// wrapped breaks a line like wrap, but returns at most most lines, the last of which ends with "…" if there are more.
func wrapped(s string, w, most int) []string {
	if enough := (most + 1) * w * maxCluster * utf8.UTFMax; len(s) > enough {
		s = strings.ToValidUTF8(s[:enough], "")
	}
	all := wrap(s, w)
	if len(all) <= most {
		return all
	}
	all = all[:most]
	last := wrap(all[most-1], max(1, w-1))[0]
	all[most-1] = strings.TrimRight(last, " ") + "…"
	return all
}

// span formats a duration: 0.4s, 12s, 3m20s, 5h02m, 2d.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// size formats a number of bytes. It returns "" for a negative number, which means that the size is unknown.
func size(n int64) string {
	switch {
	case n < 0:
		return ""
	case n < 1024:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

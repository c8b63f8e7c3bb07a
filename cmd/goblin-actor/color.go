package main

import (
	"io"
	"os"
	"runtime"
	"strings"

	"goblin-actor/internal/visible"
)

// palette paints words; the zero value leaves them as they are.
type palette struct{ on bool }

func (p palette) paint(code, s string) string {
	if !p.on || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p palette) bad(s string) string  { return p.paint("1;31", s) }
func (p palette) good(s string) string { return p.paint("32", s) }
func (p palette) warn(s string) string { return p.paint("33", s) }
func (p palette) head(s string) string { return p.paint("1", s) }

// paletteFor returns colours for a terminal, and none for pipes, files, NO_COLOR (https://no-color.org) and TERM=dumb.
func paletteFor(w io.Writer) palette {
	if os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" || !isTerminal(w) {
		return palette{}
	}
	if runtime.GOOS == "windows" && os.Getenv("WT_SESSION") == "" && os.Getenv("TERM") == "" {
		return palette{} // an old console prints escape sequences as text
	}
	return palette{on: true}
}

// isTerminal reports whether w is a character device other than the null device.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// clean returns foreign text in a form that cannot steer a terminal or hide anything from a person.
func clean(s string) string { return visible.Text(s) }

// oneLine is clean for a table cell: white space becomes single spaces, and text longer than limit characters is cut. 0 means no limit.
func oneLine(s string, limit int) string {
	return visible.Cut(clean(strings.Join(strings.Fields(s), " ")), limit)
}

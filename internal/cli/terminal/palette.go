package terminal

import (
	"io"
	"os"
	"runtime"
)

// Palette adds colors to text. The zero value adds none.
type Palette struct{ on bool }

func (p Palette) paint(code, s string) string {
	if !p.on || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// Bad returns s in the style of errors.
func (p Palette) Bad(s string) string { return p.paint("1;31", s) }

// Good returns s in the style of success.
func (p Palette) Good(s string) string { return p.paint("32", s) }

// Warn returns s in the style of warnings.
func (p Palette) Warn(s string) string { return p.paint("33", s) }

// Bold returns s in bold.
func (p Palette) Bold(s string) string { return p.paint("1", s) }

// PaletteFor returns colors if w is a terminal, unless NO_COLOR (https://no-color.org) is set, TERM is dumb, or the
// terminal is an old console of Windows. Otherwise it returns the zero Palette.
func PaletteFor(w io.Writer) Palette {
	if os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" || !IsTerminal(w) {
		return Palette{}
	}
	if runtime.GOOS == "windows" && os.Getenv("WT_SESSION") == "" && os.Getenv("TERM") == "" {
		return Palette{} // an old console prints escape sequences as text
	}
	return Palette{on: true}
}

// IsTerminal reports whether w is a character device other than the null device.
func IsTerminal(w any) bool {
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

// Plain returns s unchanged.
func Plain(s string) string { return s }

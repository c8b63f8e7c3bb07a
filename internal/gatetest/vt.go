package gatetest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// VT emulates a terminal: the subset of ECMA-48 that the console uses.
type VT struct {
	Faults []string // sequences that the console does not use, and control characters
	w, h   int
	x, y   int
	cells  [][]string // the characters; "" is the second half of a wide one
}

// The commands (OSC) that the console sends.
const (
	clipboard = "\x1b]52;"       // begins the command that copies to the user's clipboard
	noLink    = "\x1b]8;;\x1b\\" // ends a link
)

// NewVT returns a terminal of w columns and h lines.
func NewVT(w, h int) *VT {
	v := &VT{w: w, h: h}
	v.clear()
	return v
}

func (v *VT) clear() {
	v.cells = make([][]string, v.h)
	for y := range v.cells {
		v.cells[y] = slices.Repeat([]string{" "}, v.w)
	}
}

// Feed processes output. It ignores an incomplete sequence at the end of out.
func (v *VT) Feed(out string) {
	for out != "" {
		switch {
		case strings.HasPrefix(out, "\x1b["):
			end := strings.IndexFunc(out[2:], func(r rune) bool { return r >= '@' && r <= '~' })
			if end < 0 {
				return
			}
			v.csi(out[2:2+end], out[2+end])
			out = out[3+end:]
		case strings.HasPrefix(out, "\x1b]"): // up to BEL or ST
			if !strings.HasPrefix(out, clipboard) && !strings.HasPrefix(out, noLink) {
				v.Faults = append(v.Faults, fmt.Sprintf("OSC %.8q", out[2:]))
			}
			bell, st := strings.IndexByte(out, '\a'), strings.Index(out, "\x1b\\")
			switch {
			case bell >= 0 && (st < 0 || bell < st):
				out = out[bell+1:]
			case st >= 0:
				out = out[st+2:]
			default:
				return
			}
		case strings.HasPrefix(out, "\x1b(") || strings.HasPrefix(out, "\x1b)"):
			out = out[min(3, len(out)):]
		case out[0] == '\x1b':
			if len(out) > 1 && !strings.ContainsRune("=>", rune(out[1])) { // modes of the keypad
				v.Faults = append(v.Faults, fmt.Sprintf("escape %q", out[1]))
			}
			out = out[min(2, len(out)):]
		default:
			var character string
			var columns int
			character, out, columns, _ = uniseg.FirstGraphemeClusterInString(out, -1)
			v.print(character, columns)
		}
	}
}

// print shows a character, or does what a control character says.
func (v *VT) print(character string, columns int) {
	switch r, _ := utf8.DecodeRuneInString(character); {
	case character == "\r\n":
		v.x, v.y = 0, min(v.y+1, v.h-1)
	case r == '\r':
		v.x = 0
	case r == '\n':
		v.y = min(v.y+1, v.h-1)
	case r == '\b':
		v.x = max(0, v.x-1)
	case r == 0x0e || r == 0x0f: // character sets
	case unicode.IsControl(r):
		v.Faults = append(v.Faults, fmt.Sprintf("control character %q", r))
	case v.x < v.w && v.y < v.h:
		v.cells[v.y][v.x] = character
		if columns > 1 && v.x+1 < v.w {
			v.cells[v.y][v.x+1] = ""
		}
		v.x += columns
	}
}

// csi does what a control sequence says.
func (v *VT) csi(args string, final byte) {
	number := func(i, def int) int {
		parts := strings.Split(args, ";")
		if i < len(parts) {
			if n, err := strconv.Atoi(parts[i]); err == nil {
				return n
			}
		}
		return def
	}
	switch final {
	case 'H', 'f':
		v.y, v.x = min(max(0, number(0, 1)-1), v.h-1), min(max(0, number(1, 1)-1), v.w-1)
	case 'J':
		v.clear()
	case 'K':
		for x := v.x; x < v.w; x++ {
			v.cells[v.y][x] = " "
		}
	case 'C':
		v.x = min(v.x+number(0, 1), v.w-1)
	case 'm', 'h', 'l', 't', 'q', 'n', 'c', 'u', 'r', 'p':
	default:
		v.Faults = append(v.Faults, fmt.Sprintf("CSI %s %c", args, final))
	}
}

// String returns the lines of the screen, without spaces at their ends.
func (v *VT) String() string {
	var b strings.Builder
	for _, line := range v.cells {
		b.WriteString(strings.TrimRight(strings.Join(line, ""), " ") + "\n")
	}
	return b.String()
}

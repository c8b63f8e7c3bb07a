package terminal

import (
	"io"
	"os"
)

// usualColumns is the assumed width of a terminal that does not report one.
const usualColumns = 80

// Width returns the number of columns of the terminal w, but at least usualColumns/2. It returns 0 if w is not a
// terminal.
func Width(w io.Writer) int {
	if !IsTerminal(w) {
		return 0
	}
	if n := terminalColumns(w.(*os.File)); n > 0 {
		return max(n, usualColumns/2)
	}
	return usualColumns
}

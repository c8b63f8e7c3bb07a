package terminal

import (
	"io"
	"os"
)

// usualColumns are those of a terminal that does not say how many it has.
const usualColumns = 80

// Width is how many columns the terminal behind w has; 0 = it is none, and nothing need fit.
func Width(w io.Writer) int {
	if !IsTerminal(w) {
		return 0
	}
	if n := terminalColumns(w.(*os.File)); n > 0 {
		return max(n, usualColumns/2)
	}
	return usualColumns
}

package status

import (
	"fmt"
	"strings"
)

// Cursor is a place in the streams of a process, and with its text the ID of a Notice. Its numbers are those of the last entries before it.
type Cursor struct {
	Boot     string // id of the process; "" = any
	Finished uint64
	Log      uint64
	Lines    uint64
	Catalog  uint64
}

// String returns the text that ParseCursor reads, such as "ABC-12-3-0-7".
func (c Cursor) String() string {
	return fmt.Sprintf("%s-%d-%d-%d-%d", c.Boot, c.Finished, c.Log, c.Lines, c.Catalog)
}

// ParseCursor returns the Cursor with the text.
func ParseCursor(text string) (Cursor, error) {
	var c Cursor
	boot, numbers, _ := strings.Cut(text, "-")
	n, err := fmt.Sscanf(numbers, "%d-%d-%d-%d", &c.Finished, &c.Log, &c.Lines, &c.Catalog)
	c.Boot = boot
	if err != nil || n != 4 || c.String() != text {
		return Cursor{}, fmt.Errorf("%q is not the id of an event of this stream", text)
	}
	return c, nil
}

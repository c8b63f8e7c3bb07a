package status

import (
	"fmt"
	"strings"
)

// Cursor is a position in the streams of a process. Its text is the ID of a Notice. Each number is that of the last entry of a stream
// before the position.
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

// ParseCursor parses the text of a Cursor.
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

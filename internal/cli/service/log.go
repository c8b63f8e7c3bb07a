package service

import (
	"io"
	"os"
	"slices"
	"strings"
)

// tailBytes limits how much of a log file is read to show its last lines.
const tailBytes = 8 << 10

// tailFile returns the last lines of a service's log file, or "" if there is none.
func tailFile(name string) string {
	path, err := logIn(name)
	if err != nil {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > tailBytes {
		if _, err := f.Seek(-tailBytes, io.SeekEnd); err != nil {
			return ""
		}
	}
	text, _ := io.ReadAll(io.LimitReader(f, tailBytes))
	lines := slices.Collect(strings.Lines(string(text)))
	return strings.Join(lines[max(0, len(lines)-tailLines):], "")
}

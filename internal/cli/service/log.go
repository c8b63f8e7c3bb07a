package service

import (
	"os"
	"slices"
	"strings"
)

// tailFile returns the last lines of a service's log file, or "" if there is none. The gateway normally keeps the file
// below 10 MiB.
func tailFile(name string) string {
	path, err := logIn(name)
	if err != nil {
		return ""
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	lines := slices.Collect(strings.Lines(string(text)))
	return strings.Join(lines[max(0, len(lines)-tailLines):], "")
}

package audit

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// tailBlock is the number of bytes read at once.
const tailBlock = 64 << 10

// Filter selects lines. An empty field matches all lines; * matches any characters.
type Filter struct {
	Who    string    // id of a principal, or its name: key:ci or ci
	Server string    // name of a server
	Item   string    // tool, prompt or URI
	Since  time.Time // omit older lines
	Brief  bool      // omit lines about logs: file, checkpoint, open, witness
}

// Admits reports whether the filter selects the line.
func (f *Filter) Admits(l *Line) bool {
	if f.Brief {
		switch l.Event {
		case EventFile, EventCheckpoint, EventOpen, EventWitness:
			return false
		}
	}
	_, name, _ := strings.Cut(l.Who, ":")
	return (f.Who == "" || matchesPattern(f.Who, l.Who) || name != "" && matchesPattern(f.Who, name)) && (f.Server == "" || matchesPattern(f.Server, l.Server)) &&
		(f.Item == "" || matchesPattern(f.Item, l.Item)) && !l.Time.Before(f.Since)
}

// matchesPattern reports whether text matches a pattern with * wildcards.
func matchesPattern(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	text, begins := strings.CutPrefix(text, parts[0])
	if !begins {
		return false
	}
	last := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return strings.HasSuffix(text, last)
}

// Entry is a line with its bytes.
type Entry struct {
	Line
	Raw []byte
	Log string // name of the log; set only by a Source
}

// Position is a position in a log.
type Position struct {
	file   fs.FileInfo // nil = before the log
	offset int64
}

// Newest returns the last n lines that the filter selects, oldest first, and the end of the log. It reads backward and
// stops as soon as it can. It skips text that is not a line, which Verify reports.
func Newest(path string, f Filter, n int) (found []Entry, end Position, err error) {
	files := Files(path)
	if len(files) == 0 {
		_, err := os.Stat(path)
		return nil, end, err
	}
	for i, file := range slices.Backward(files) {
		enough, place, err := newestInFile(file, &f, n, &found)
		if errors.Is(err, fs.ErrNotExist) { // it was just rotated or deleted
			continue
		}
		if err != nil {
			return nil, end, err
		}
		if i == len(files)-1 {
			end = place
		}
		if enough {
			break
		}
	}
	slices.Reverse(found)
	return found, end, nil
}

// newestInFile appends selected lines of one file, newest first. enough means that older files need not be read.
func newestInFile(path string, f *Filter, n int, found *[]Entry) (enough bool, end Position, err error) {
	file, err := os.Open(path)
	if err != nil {
		return false, end, err
	}
	defer func() { _ = file.Close() }() // opened for reading
	if end.file, err = file.Stat(); err != nil {
		return false, end, err
	}
	enough, end.offset, err = newestInReader(file, end.file.Size(), f, n, found)
	return enough, end, err
}

// newestInReader is like newestInFile, but reads an open file, and only up to the offset at. end is the offset after
// the last whole line.
func newestInReader(file io.ReaderAt, at int64, f *Filter, n int, found *[]Entry) (enough bool, end int64, err error) {
	var rest []byte // end of a line whose start is still unread
	whole := false  // the last newline has been found
	for at > 0 {
		size := min(at, tailBlock)
		at -= size
		block := make([]byte, size, size+int64(len(rest)))
		if _, err := file.ReadAt(block, at); err != nil {
			return false, end, err
		}
		block = append(block, rest...)
		for {
			newline := bytes.LastIndexByte(block, '\n')
			if newline < 0 {
				break
			}
			if !whole { // text after the last newline is incomplete
				whole, end = true, at+int64(newline)+1
			} else if done := f.add(block[newline+1:], n, found); done {
				return true, end, nil
			}
			block = block[:newline]
		}
		if rest = block; len(rest) > maxLine {
			rest = nil
		}
	}
	if whole && len(rest) > 0 {
		return f.add(rest, n, found), end, nil
	}
	return false, end, nil
}

// add appends the line if the filter selects it, and reports whether older lines need not be read.
func (f *Filter) add(raw []byte, n int, found *[]Entry) (done bool) {
	line, err := ParseLine(raw)
	if err != nil {
		return false
	}
	if f.Admits(&line) {
		*found = append(*found, Entry{Line: line, Raw: bytes.Clone(raw)})
	}
	older := line.Time.Before(f.Since.Add(-time.Hour)) // tolerate a clock that was set back
	return len(*found) >= n || !f.Since.IsZero() && older
}

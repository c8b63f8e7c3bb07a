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

// tailBlock is how many bytes are read at once.
const tailBlock = 64 << 10

// Filter says which lines are wanted. What is empty admits all; * stands for any characters.
type Filter struct {
	Who    string // id of a principal, or its name: key:ci, ci
	Server string
	Item   string    // tool, prompt or URI
	Since  time.Time // not older
	Brief  bool      // leave out the lines that the log writes about itself: file, checkpoint, open
}

// Admits reports whether the line is wanted.
func (f *Filter) Admits(l *Line) bool {
	if f.Brief {
		switch l.Event {
		case EventFile, EventCheckpoint, EventOpen:
			return false
		}
	}
	_, name, _ := strings.Cut(l.Who, ":")
	return (f.Who == "" || like(f.Who, l.Who) || name != "" && like(f.Who, name)) && (f.Server == "" || like(f.Server, l.Server)) &&
		(f.Item == "" || like(f.Item, l.Item)) && !l.Time.Before(f.Since)
}

// like reports whether text is what the pattern says.
func like(pattern, text string) bool {
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
}

// Place is how far a log has been read.
type Place struct {
	file   fs.FileInfo // nil = nowhere yet
	offset int64
}

// Newest returns the newest lines that the filter admits, n at most, the oldest first, and where the log ends. It reads from the end, and
// no more than it has to. What is no line is passed over: that is for Verify to say.
func Newest(path string, f Filter, n int) (found []Entry, end Place, err error) {
	files := Files(path)
	if len(files) == 0 {
		_, err := os.Stat(path)
		return nil, end, err
	}
	for i, file := range slices.Backward(files) {
		enough, place, err := newestOf(file, &f, n, &found)
		if errors.Is(err, fs.ErrNotExist) { // rotated away, or deleted, meanwhile
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

// newestOf appends the newest lines of one file, the newest first. enough says that older files have none that is wanted.
func newestOf(path string, f *Filter, n int, found *[]Entry) (enough bool, end Place, err error) {
	file, err := os.Open(path)
	if err != nil {
		return false, end, err
	}
	defer func() { _ = file.Close() }() // it was only read
	if end.file, err = file.Stat(); err != nil {
		return false, end, err
	}
	enough, end.offset, err = newestIn(file, end.file.Size(), f, n, found)
	return enough, end, err
}

// newestIn does that with the bytes of a file; end is where its last whole line ends.
func newestIn(file io.ReaderAt, at int64, f *Filter, n int, found *[]Entry) (enough bool, end int64, err error) {
	var rest []byte // what of a line has been read already: its end
	whole := false  // the last newline has been passed
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
			if !whole { // what stands after it is not finished
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

// add appends the line if it is wanted, and reports whether no older one is.
func (f *Filter) add(raw []byte, n int, found *[]Entry) (done bool) {
	line, err := ParseLine(raw)
	if err != nil {
		return false
	}
	if f.Admits(&line) {
		*found = append(*found, Entry{line, bytes.Clone(raw)})
	}
	older := line.Time.Before(f.Since.Add(-time.Hour)) // a clock that was set back a little is no reason to end
	return len(*found) >= n || !f.Since.IsZero() && older
}

package audit

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
)

// follower reads a growing log.
type follower struct {
	path   string
	filter Filter
	each   func(Entry) error // receives the lines that the filter admits
	name   string            // the file to open next
	offset int64             // where to begin in it
	file   *os.File          // nil = not open, or not yet created
	info   fs.FileInfo
	rest   []byte // start of an incomplete line
}

// newFollower returns a follower for the lines after the position from.
func newFollower(path string, from Position, f Filter, each func(Entry) error) *follower {
	r := &follower{path: path, filter: f, each: each, name: path}
	if from.file == nil {
		return r
	}
	if name := currentPath(path, from.file); name != "" { // otherwise it has been deleted
		r.name, r.offset = name, from.offset
	}
	return r
}

// poll reads the lines that were added. It continues across rotations. A file that does not exist has no lines.
func (r *follower) poll() error {
	for {
		if r.file == nil {
			if err := r.open(r.name, r.offset); err != nil {
				return err
			}
			r.offset = 0
		}
		next, err := r.read()
		if err != nil || next == "" {
			return err
		}
		r.close()
		r.name = next
	}
}

func (r *follower) close() {
	if r.file != nil {
		_ = r.file.Close()
	}
	r.file, r.rest = nil, nil
}

// open opens a file of the log. It is not an error if the file does not exist.
func (r *follower) open(name string, offset int64) (err error) {
	if r.file, err = os.Open(name); err != nil {
		r.file = nil
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if r.info, err = r.file.Stat(); err != nil {
		return err
	}
	_, err = r.file.Seek(offset, io.SeekStart)
	return err
}

// read reads new lines. It returns the next file if the current one is complete.
func (r *follower) read() (next string, err error) {
	if r.file == nil {
		return "", nil
	}
	moved := !isFile(r.path, r.info) // checked before reading, so that the last lines of a rotated file are not missed
	if err := r.readOn(); err != nil || !moved {
		return "", err
	}
	if next = nextFile(r.path, r.info); next != "" {
		return next, nil
	}
	if _, err := os.Stat(r.path); err == nil && currentPath(r.path, r.info) == "" {
		return r.path, nil
	}
	return "", nil
}

// currentPath returns the current path of a file of the log, or "" if it was deleted.
func currentPath(path string, was fs.FileInfo) string {
	for _, name := range Files(path) {
		if isFile(name, was) {
			return name
		}
	}
	return ""
}

// nextFile returns the file of the log that follows the given one, or "".
func nextFile(path string, was fs.FileInfo) string {
	files := Files(path)
	for i, name := range files {
		if isFile(name, was) && i+1 < len(files) {
			return files[i+1]
		}
	}
	return ""
}

func isFile(path string, was fs.FileInfo) bool {
	is, err := os.Stat(path)
	return err == nil && os.SameFile(is, was)
}

// readOn reads to the end of the file and passes its lines on.
func (r *follower) readOn() error {
	block := make([]byte, tailBlock)
	for {
		n, err := r.file.Read(block)
		r.rest = append(r.rest, block[:n]...)
		if err := r.lines(); err != nil {
			return err
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// lines passes the whole lines that the filter admits to each. It keeps an incomplete line, unless it is longer than
// maxLine.
func (r *follower) lines() error {
	for {
		raw, after, whole := bytes.Cut(r.rest, []byte("\n"))
		if !whole {
			break
		}
		r.rest = after
		line, err := ParseLine(raw)
		if err != nil || !r.filter.Admits(&line) {
			continue
		}
		if err := r.each(Entry{Line: line, Raw: bytes.Clone(raw)}); err != nil {
			return err
		}
	}
	if len(r.rest) > maxLine {
		r.rest = nil
	}
	return nil
}

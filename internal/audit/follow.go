package audit

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"
)

// followPause is between two looks at a file that is followed.
const followPause = 250 * time.Millisecond

// Follow calls each with every line after the place that the filter admits, as they come, until ctx ends or each returns an error,
// which it returns. It goes on where the log is rotated.
func Follow(ctx context.Context, path string, from Place, f Filter, each func(Entry) error) error {
	r := follower{path: path, filter: f, each: each}
	defer r.close()
	name := path
	if from.file != nil {
		if name = sameOf(path, from.file); name == "" { // deleted meanwhile
			name, from = path, Place{}
		}
	}
	for {
		if r.file == nil {
			if err := r.open(name, from.offset); err != nil {
				return err
			}
			from.offset = 0
		}
		next, err := r.read()
		if err != nil {
			return err
		}
		if next != "" {
			r.close()
			name = next
			continue
		}
		select {
		case <-time.After(followPause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// follower reads a log as it grows.
type follower struct {
	path   string
	filter Filter
	each   func(Entry) error
	file   *os.File // nil = there is none yet
	info   fs.FileInfo
	rest   []byte // of a line that is not whole yet
}

func (r *follower) close() {
	if r.file != nil {
		_ = r.file.Close()
	}
	r.file, r.rest = nil, nil
}

// open opens a file of the log; one that is not there yet is no error.
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

// read reads what there is, and returns the file to go on with when this one is complete.
func (r *follower) read() (next string, err error) {
	if r.file == nil {
		return "", nil
	}
	moved := !isAt(r.path, r.info) // looked at before its last lines are read
	if err := r.readOn(); err != nil || !moved {
		return "", err
	}
	if next = nextOf(r.path, r.info); next != "" {
		return next, nil
	}
	if _, err := os.Stat(r.path); err == nil && sameOf(r.path, r.info) == "" {
		return r.path, nil
	}
	return "", nil
}

// sameOf is the name that a file of the log has now; "" when it has gone.
func sameOf(path string, was fs.FileInfo) string {
	for _, name := range Files(path) {
		if isAt(name, was) {
			return name
		}
	}
	return ""
}

// nextOf is the file of the log after that one; "" when there is none.
func nextOf(path string, was fs.FileInfo) string {
	files := Files(path)
	for i, name := range files {
		if isAt(name, was) && i+1 < len(files) {
			return files[i+1]
		}
	}
	return ""
}

func isAt(path string, was fs.FileInfo) bool {
	is, err := os.Stat(path)
	return err == nil && os.SameFile(is, was)
}

// readOn reads to the end of the file.
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

// lines hands on the lines that are whole.
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
		if err := r.each(Entry{line, bytes.Clone(raw)}); err != nil {
			return err
		}
	}
	if len(r.rest) > maxLine {
		r.rest = nil
	}
	return nil
}

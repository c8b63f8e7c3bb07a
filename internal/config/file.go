package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"
)

// MaxFileBytes is the maximum size of a configuration file.
const MaxFileBytes = maxFileBytes

// ErrChanged is wrapped by the error of Replace if the file has changed since OpenFile read it.
var ErrChanged = errors.New("the file has changed since it was read")

// FileError reports why a file cannot be read or replaced.
type FileError struct {
	Path string
	Err  error
	Hint string // how to fix it; "" if there is no suggestion
}

func (e *FileError) Error() string { return e.Path + ": " + reason(e.Err) }
func (e *FileError) Unwrap() error { return e.Err }

// File is a text file that is read once and replaced at most once. Its methods must not be called concurrently.
type File struct {
	Path string // as given to OpenFile
	Text string // UTF-8 without byte order mark, with original line endings; "" if the file does not exist

	target string // Path with symbolic links resolved
	raw    []byte
	enc    encoding
	info   fs.FileInfo // nil if the file does not exist
}

// OpenFile reads the file at path, in UTF-8 or UTF-16. More than limit bytes are an error. A file that does not exist
// is treated as empty, and Replace creates it. Symbolic links are followed. Errors are *FileError.
func OpenFile(path string, limit int64) (*File, error) {
	f := &File{Path: path, target: path}
	fail := func(err error, hint string) (*File, error) { return nil, &FileError{path, err, hint} }
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(path); err == nil {
			return fail(errors.New("a dangling symbolic link"), "remove the link, or create the file it names")
		}
		return f, nil
	case err != nil:
		return fail(err, "")
	case info.IsDir():
		return fail(errors.New("is a directory"), "name the file in it")
	case !info.Mode().IsRegular():
		return fail(errors.New("not a regular file"), "")
	case info.Size() > limit:
		return fail(tooLarge(info.Size(), limit), "")
	}
	if f.target, err = filepath.EvalSymlinks(path); err != nil {
		return fail(err, "")
	}
	if f.raw, err = readUpTo(f.target, limit); err != nil {
		return fail(err, "")
	}
	f.info = info
	enc, body := encodingOf(f.raw)
	text, err := enc.decode(body)
	f.enc, f.Text = enc, string(text)
	if err != nil || !utf8.Valid(text) || !bytes.Equal(enc.encode(f.Text), f.raw) {
		return fail(errors.New("not valid UTF-8 or UTF-16"), "save the file as UTF-8")
	}
	return f, nil
}

func tooLarge(size, limit int64) error {
	return fmt.Errorf("%d MiB is too large: the limit is %d MiB", (size+1<<20-1)>>20, limit>>20)
}

func readUpTo(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if int64(len(data)) > limit {
		size := int64(len(data))
		if info, statErr := f.Stat(); statErr == nil {
			size = max(size, info.Size()) // only the bytes up to the limit were read
		}
		return nil, tooLarge(size, limit)
	}
	return data, err
}

// Exists reports whether the file existed.
func (f *File) Exists() bool { return f.info != nil }

// Shared reports whether other users can read the file.
func (f *File) Shared() bool { return f.info != nil && f.info.Mode().Perm()&0o044 != 0 }

// CheckWritable returns an error if Replace is known to fail. Errors are *FileError.
func (f *File) CheckWritable() error {
	if f.info == nil {
		dir := filepath.Dir(f.target)
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return &FileError{f.Path, errors.New("directory " + dir + " does not exist"), "create the directory, or name another file"}
		}
		return nil
	}
	denied := &FileError{f.Path, errors.New("no write permission"), "make it writable, e.g. chmod u+w " + f.target}
	if f.info.Mode().Perm()&0o222 == 0 { // applies to root, too
		return denied
	}
	w, err := os.OpenFile(f.target, os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrPermission) {
		return denied
	}
	if err != nil {
		return &FileError{f.Path, err, ""}
	}
	return w.Close()
}

// Replace atomically replaces the file with text, in the file's encoding and mode (0600 for a new file). Symbolic links
// are followed. A file with several hard links is overwritten in place, so that all of them see the new text; if that
// fails halfway, the Hint of the error names a file with the complete text. With keep, the old content is saved next to
// the file, under the returned name. If the file has changed since OpenFile, the error wraps ErrChanged. Errors are
// *FileError.
func (f *File) Replace(text string, keep bool) (backup string, err error) {
	if err := f.unchanged(); err != nil {
		return "", err
	}
	if err := f.CheckWritable(); err != nil {
		return "", err
	}
	if keep && f.info != nil {
		if backup, err = f.keepOld(); err != nil {
			return "", f.denied(err)
		}
	}
	dir := filepath.Dir(f.target)
	temp, err := os.CreateTemp(dir, ".goblin-*.tmp")
	if err != nil {
		return backup, f.denied(err)
	}
	done := true
	defer func() {
		if done {
			_ = os.Remove(temp.Name()) // fails if it was renamed
		}
	}()
	_, err = temp.Write(f.enc.encode(text))
	if f.info != nil && err == nil {
		err = cmp.Or(temp.Chmod(f.info.Mode().Perm()), keepOwner(temp, f.info))
	}
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err == nil {
		err = f.unchanged() // a change between this check and the rename is lost, because there is no lock
	}
	switch {
	case err != nil:
	case f.info != nil && hasOtherLinks(f.info):
		if err = overwrite(f.target, f.enc.encode(text)); err != nil {
			done = false
			return backup, &FileError{f.Path, err, "it may be incomplete; the new text is in " + temp.Name()}
		}
	default:
		err = os.Rename(temp.Name(), f.target)
	}
	if err != nil {
		return backup, f.denied(err)
	}
	return backup, nil
}

// overwrite replaces the content of an existing file.
func overwrite(path string, data []byte) error {
	w, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return errors.Join(cmp.Or(err, w.Truncate(int64(len(data)))), w.Sync(), w.Close())
}

// unchanged returns a *FileError that wraps ErrChanged if the file differs from what OpenFile read, or cannot be read.
func (f *File) unchanged() error {
	now, err := readUpTo(f.target, int64(len(f.raw))+1)
	switch {
	case f.info == nil && errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && f.info != nil && bytes.Equal(now, f.raw):
		return nil
	}
	return &FileError{f.Path, ErrChanged, "the configuration was not written; run the command again"}
}

// keepOld saves what OpenFile read next to the file, under a new name.
func (f *File) keepOld() (string, error) {
	base := f.target + ".bak-" + time.Now().Format("20060102T150405")
	for i := range 100 {
		name := base
		if i > 0 {
			name = fmt.Sprintf("%s-%d", base, i+1)
		}
		w, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, f.info.Mode().Perm()|0o200)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = w.Write(f.raw)
		return name, errors.Join(err, keepOwner(w, f.info), w.Close())
	}
	return "", errors.New("too many backups of the file")
}

// denied adds the path to err, and a hint if permission is missing.
func (f *File) denied(err error) error {
	if e, ok := errors.AsType[*FileError](err); ok {
		return e
	}
	hint := ""
	if errors.Is(err, fs.ErrPermission) {
		hint = "make the directory writable, e.g. chmod u+w " + filepath.Dir(f.target)
	}
	return &FileError{f.Path, err, hint}
}

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

// MaxFileBytes is the size of a configuration at most.
const MaxFileBytes = maxFileBytes

// ErrChanged is behind the error of Replace when somebody else has written the file since OpenFile read it.
var ErrChanged = errors.New("it was changed meanwhile")

// FileError is why a file cannot be read or replaced.
type FileError struct {
	Path string
	Err  error
	Hint string // what to do; "" = nothing to suggest
}

func (e *FileError) Error() string { return e.Path + ": " + reason(e.Err) }
func (e *FileError) Unwrap() error { return e.Err }

// File is a text file of somebody's that is about to be changed: read once, replaced at most once.
// Its methods are not for several goroutines.
type File struct {
	Path string // as it was named
	Text string // UTF-8 without byte order mark, line ends as they are; "" when there is no file

	target string // where symbolic links lead
	raw    []byte
	enc    encoding
	info   fs.FileInfo // nil: there is no file
}

// OpenFile reads the file at path, UTF-8 or UTF-16, up to limit bytes. A file that is not there is an empty one,
// which Replace creates. Symbolic links are followed. Errors are *FileError.
func OpenFile(path string, limit int64) (*File, error) {
	f := &File{Path: path, target: path}
	fail := func(err error, hint string) (*File, error) { return nil, &FileError{path, err, hint} }
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(path); err == nil {
			return fail(errors.New("a symbolic link that leads nowhere"), "remove the link, or create the file it names")
		}
		return f, nil
	case err != nil:
		return fail(err, "")
	case info.IsDir():
		return fail(errors.New("it is a directory"), "name the file in it")
	case !info.Mode().IsRegular():
		return fail(errors.New("it is no regular file"), "")
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
		return fail(errors.New("neither clean UTF-8 nor UTF-16"), "save the file as UTF-8")
	}
	return f, nil
}

func tooLarge(size, limit int64) error {
	return fmt.Errorf("%d MiB are too many: at most %d MiB are read", (size+1<<20-1)>>20, limit>>20)
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
			size = max(size, info.Size()) // no more than the limit was read of it
		}
		return nil, tooLarge(size, limit)
	}
	return data, err
}

// Exists tells whether there was a file.
func (f *File) Exists() bool { return f.info != nil }

// Shared tells whether others than its owner may read the file.
func (f *File) Shared() bool { return f.info != nil && f.info.Mode().Perm()&0o044 != 0 }

// CheckWritable says early why Replace would fail; nil when nothing is known to be in the way. Errors are *FileError.
func (f *File) CheckWritable() error {
	if f.info == nil {
		dir := filepath.Dir(f.target)
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return &FileError{f.Path, errors.New("there is no directory " + dir), "create the directory, or name another file"}
		}
		return nil
	}
	denied := &FileError{f.Path, errors.New("no permission to write it"), "make it writable, e.g. chmod u+w " + f.target}
	if f.info.Mode().Perm()&0o222 == 0 { // also root heeds that
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

// Replace writes text in the encoding of the file: whole or not at all, with the mode the file had (0600 for a new
// one), at the place where symbolic links lead. A file with several names (hard links) is written over, so that all of them
// have the new text; should that fail half-way, the whole text is beside it, and the error says where. With keep the old file stays beside it, under the name returned.
// A file that was changed since OpenFile stays as it is: ErrChanged. Errors are *FileError.
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
			_ = os.Remove(temp.Name()) // gone already when all went well
		}
	}()
	_, err = temp.Write(f.enc.encode(text))
	if f.info != nil && err == nil {
		err = cmp.Or(temp.Chmod(f.info.Mode().Perm()), keepOwner(temp, f.info))
	}
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err == nil {
		err = f.unchanged() // what is between this and the rename is lost; nobody has a lock to offer
	}
	switch {
	case err != nil:
	case f.info != nil && hasOthers(f.info):
		if err = overwrite(f.target, f.enc.encode(text)); err != nil {
			done = false
			return backup, &FileError{f.Path, err, "it may be half written; its new text is " + temp.Name()}
		}
	default:
		err = os.Rename(temp.Name(), f.target)
	}
	if err != nil {
		return backup, f.denied(err)
	}
	return backup, nil
}

// overwrite writes data into the file that is there.
func overwrite(path string, data []byte) error {
	w, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return errors.Join(cmp.Or(err, w.Truncate(int64(len(data)))), w.Sync(), w.Close())
}

// unchanged compares the file with what OpenFile read.
func (f *File) unchanged() error {
	now, err := readUpTo(f.target, int64(len(f.raw))+1)
	switch {
	case f.info == nil && errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && f.info != nil && bytes.Equal(now, f.raw):
		return nil
	}
	return &FileError{f.Path, ErrChanged, "nothing was written; run the command again"}
}

// keepOld writes what OpenFile read beside the file, never over another.
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
	return "", errors.New("there are too many backups beside it")
}

// denied puts the path to err, and a hint where permission is what is missing.
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

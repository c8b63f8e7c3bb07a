package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"goblin-actor/internal/keyring"
)

const (
	maxLookups    = 256              // maximum number of different references in a file
	maxValueBytes = 64 << 10         // maximum size of a value from a file, the keyring or a command
	lookTime      = 20 * time.Second // limit for all commands and keyring lookups together
)

var (
	errForeignReference = errors.New("not resolved in another program's file")
	errNotLookedUp      = errors.New("not resolved, because this operation does not need the value")
)

// lookups selects the sources that a decoder may use besides the environment, and caches their values.
type lookups struct {
	files    bool              // files may be read
	others   bool              // the keyring may be read, and commands may run
	outline  bool              // an unresolved reference is not an error, because the values are not used
	answers  map[string]answer // the cached values and errors, by reference
	deadline time.Time         // of commands and keyring lookups; set by the first lookup
}

var errLookTime = fmt.Errorf("the time limit of %v for all references in the file has passed", lookTime)

type answer struct {
	value string
	err   error
}

// everything allows the decoder to use all sources.
func (d *decoder) everything() { d.may.files, d.may.others = true, true }

func (d *decoder) sources() sources { return sources{d.env, d.lookUp} }

// lookUp resolves a reference. Each reference is resolved once per file.
func (d *decoder) lookUp(kind, what string) (string, error) {
	if d.foreign {
		return "", errForeignReference
	}
	key := kind + ":" + what
	if known, ok := d.may.answers[key]; ok {
		return known.value, known.err
	}
	if len(d.may.answers) >= maxLookups {
		return "", fmt.Errorf("not resolved, because the file has more than %d references", maxLookups)
	}
	if d.may.answers == nil {
		d.may.answers, d.may.deadline = map[string]answer{}, time.Now().Add(lookTime)
	}
	value, err := d.ask(kind, what)
	if err == nil {
		value, err = fit(value)
	}
	d.may.answers[key] = answer{value, err}
	return value, err
}

func (d *decoder) ask(kind, what string) (string, error) {
	switch {
	case kind == fromFile && d.may.files:
		path := d.beside(what)
		if !slices.Contains(d.files, path) {
			d.files = append(d.files, path)
		}
		return readSecretFile(path)
	case kind == fromFile, !d.may.others:
		return "", errNotLookedUp
	case !time.Now().Before(d.may.deadline):
		return "", fmt.Errorf("not resolved, because %w", errLookTime)
	case kind == fromKeyring:
		return keyring.Get(what)
	}
	return d.runCommand(what)
}

// fit removes one line ending from the end of a value, and rejects values that are empty, too large or not text.
func fit(value string) (string, error) {
	if line, ok := strings.CutSuffix(value, "\n"); ok {
		value = strings.TrimSuffix(line, "\r")
	}
	switch {
	case value == "":
		return "", errors.New("empty")
	case len(value) > maxValueBytes:
		return "", fmt.Errorf("more than %d KiB", maxValueBytes>>10)
	case !utf8.ValidString(value):
		return "", errors.New("not UTF-8")
	case strings.Contains(value, "\x00"):
		return "", errors.New("contains a NUL character")
	}
	return value, nil
}

// readSecretFile reads a regular file. It returns an error if every user can read the file.
func readSecretFile(path string) (string, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // opening a pipe would block
		return "", errors.New("not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", errors.New("no such file")
		}
		return "", errors.New(reason(err))
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", errors.New(reason(err))
	case !info.Mode().IsRegular():
		return "", errors.New("not a regular file")
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o004 != 0:
		return "", errors.New("not private; run chmod 600 " + shown(filepath.Base(path)))
	}
	data, err := io.ReadAll(io.LimitReader(f, maxValueBytes+3))
	return string(data), err
}

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
	maxLookups    = 256              // different references of a file that are looked up
	maxValueBytes = 64 << 10         // of what a file, the keyring or a command says
	lookTime      = 20 * time.Second // for all commands and the keyring together, while somebody waits for the gateway
)

var (
	errForeignReference = errors.New("it counts only in a configuration of ours")
	errNotLookedUp      = errors.New("it is not looked up here")
)

// lookups are what a decoder may ask besides the environment, and what it was told.
type lookups struct {
	files    bool // may be read
	others   bool // the keyring may be asked, and commands may be run
	outline  bool // what is not looked up is no fault: nobody goes by the values
	answers  map[string]answer
	deadline time.Time
}

type answer struct {
	value string
	err   error
}

// everything lets the decoder look everything up.
func (d *decoder) everything() { d.may.files, d.may.others = true, true }

func (d *decoder) sources() sources { return sources{d.env, d.lookUp} }

// lookUp answers a reference. One that stands in several places is asked for once.
func (d *decoder) lookUp(kind, what string) (string, error) {
	if d.foreign {
		return "", errForeignReference
	}
	key := kind + ":" + what
	if known, ok := d.may.answers[key]; ok {
		return known.value, known.err
	}
	if len(d.may.answers) >= maxLookups {
		return "", fmt.Errorf("more than %d references are looked up", maxLookups)
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
		return "", fmt.Errorf("those before it took %v", lookTime)
	case kind == fromKeyring:
		return keyring.Get(what)
	}
	return d.runCommand(what)
}

// fit cuts one line feed at the end, as files and programs have it there, and refuses what is no text.
func fit(value string) (string, error) {
	value = strings.TrimSuffix(strings.TrimSuffix(value, "\n"), "\r")
	switch {
	case value == "":
		return "", errors.New("it is empty")
	case len(value) > maxValueBytes:
		return "", fmt.Errorf("more than %d KiB", maxValueBytes>>10)
	case !utf8.ValidString(value):
		return "", errors.New("not UTF-8")
	case strings.Contains(value, "\x00"):
		return "", errors.New("it holds a NUL")
	}
	return value, nil
}

// readSecretFile reads a file that nobody else may read.
func readSecretFile(path string) (string, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // opening a pipe would wait
		return "", errors.New("it is no regular file")
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
		return "", errors.New("it is no regular file")
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o004 != 0:
		return "", errors.New("others can read it; chmod 600 " + shown(filepath.Base(path)))
	}
	data, err := io.ReadAll(io.LimitReader(f, maxValueBytes+3))
	return string(data), err
}

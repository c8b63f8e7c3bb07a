package auth

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// ErrNoKey is behind the error of Revoke when no key has the name.
var ErrNoKey = errors.New("there is no such key")

// ErrKeyExists is behind the error of Add when a key has the name already.
var ErrKeyExists = errors.New("there is a key of that name")

// Add puts a key into the file, and makes the file where there is none. Whoever has it open sees it whole or not at all.
// Errors of the file are *FileError.
func Add(path string, k Key) error {
	return change(path, true, func(keys []Key, text []byte) ([]byte, error) {
		if slices.ContainsFunc(keys, func(other Key) bool { return other.Name == k.Name }) {
			return nil, ErrKeyExists
		}
		if len(text) > 0 && text[len(text)-1] != '\n' {
			text = append(text, '\n')
		}
		return append(text, k.line()...), nil
	})
}

// Revoke takes the line of a key out of the file; everything else stays as it is.
func Revoke(path, name string) error {
	return change(path, false, func(keys []Key, text []byte) ([]byte, error) {
		if !slices.ContainsFunc(keys, func(k Key) bool { return k.Name == name }) {
			return nil, ErrNoKey
		}
		var left bytes.Buffer
		for line := range bytes.Lines(text) {
			if !strings.HasPrefix(string(line), name+":") {
				left.Write(line)
			}
		}
		return left.Bytes(), nil
	})
}

// change replaces the file's text by what with returns, while nobody else changes it.
func change(path string, create bool, with func(keys []Key, text []byte) ([]byte, error)) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	unlock, err := lock(path, lockTime)
	if err != nil {
		return &FileError{path, err, ""}
	}
	defer unlock()
	text, err := readFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && create:
		text = []byte(fileHead)
	case err != nil:
		_, err = Load(path) // for its hint
		return err
	}
	keys, err := Parse(text)
	if err != nil {
		return &FileError{path, err, "mend it first: nothing was changed"}
	}
	if text, err = with(keys, text); err != nil {
		return err
	}
	if len(text) > maxFileBytes {
		return &FileError{path, fmt.Errorf("it would have more than %d MiB", maxFileBytes>>20), "revoke keys that nobody needs"}
	}
	if err := replace(path, text); err != nil {
		return &FileError{path, reason(err), ""}
	}
	return nil
}

// replace writes the file whole or not at all, readable by its owner only.
func replace(path string, text []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(path), ".keys-*.tmp") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temp.Name()) }() // gone already when all went well
	if info, err := os.Stat(path); err == nil {
		keepOwner(temp, info)
	}
	_, err = temp.Write(text)
	if err = errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder has a folder on disk as it is: else a key that was revoked could be back after the power has failed. It is a variable for tests.
var syncFolder = func(path string) error {
	if runtime.GOOS == "windows" { // folders cannot be synced there
		return nil
	}
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	err = folder.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) { // nor on some file systems
		err = nil
	}
	return errors.Join(err, folder.Close())
}

// lockTime is how long another command may take to change the file.
const lockTime = 5 * time.Second

// errLocked: another command is changing the file, or hangs.
var errLocked = errors.New("another command is changing it; try again")

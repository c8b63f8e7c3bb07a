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

// ErrNoKey is returned by Revoke if the file has no key of that name.
var ErrNoKey = errors.New("the key file has no key of this name")

// ErrKeyExists is returned by Add if the file already has a key of that name.
var ErrKeyExists = errors.New("the key file already has a key of this name")

// Add appends a key to the file at path, and creates the file if it does not exist. The update is atomic: readers see the old
// content or the new. Errors of the file are *FileError.
func Add(path string, k Key) error {
	return edit(path, true, func(keys []Key, text []byte) ([]byte, error) {
		if slices.ContainsFunc(keys, func(other Key) bool { return other.Name == k.Name }) {
			return nil, ErrKeyExists
		}
		if len(text) > 0 && text[len(text)-1] != '\n' {
			text = append(text, '\n')
		}
		return append(text, k.line()...), nil
	})
}

// Revoke removes a key's line from the file at path and leaves all other lines unchanged.
func Revoke(path, name string) error {
	return edit(path, false, func(keys []Key, text []byte) ([]byte, error) {
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

// edit replaces the file's text by the result of with. It holds a lock that excludes other commands.
func edit(path string, create bool, with func(keys []Key, text []byte) ([]byte, error)) error {
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
		_, err = Load(path) // Load adds a hint to the error
		return err
	}
	keys, err := Parse(text)
	if err != nil {
		return &FileError{path, err, "fix the file first; nothing was changed"}
	}
	if text, err = with(keys, text); err != nil {
		return err
	}
	if len(text) > maxFileBytes {
		return &FileError{path, fmt.Errorf("the key file would exceed %d MiB", maxFileBytes>>20), "revoke unused keys"}
	}
	if err := replace(path, text); err != nil {
		return &FileError{path, reason(err), ""}
	}
	return nil
}

// replace writes the file atomically, readable by its owner only.
func replace(path string, text []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(path), ".keys-*.tmp") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temp.Name()) }() // it no longer exists after a successful rename
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

// syncFolder flushes a directory to disk. Without it, a revoked key could reappear after a power failure. It is a
// variable for tests.
var syncFolder = func(path string) error {
	if runtime.GOOS == "windows" { // Windows cannot sync directories
		return nil
	}
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	err = folder.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) { // some file systems cannot sync directories either
		err = nil
	}
	return errors.Join(err, folder.Close())
}

// lockTime limits the wait for the lock on a key file.
const lockTime = 5 * time.Second

// errLocked is returned if another command holds the lock for longer than lockTime.
var errLocked = errors.New("another goblin-actor command is changing the file; try again")

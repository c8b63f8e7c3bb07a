//go:build !unix

package auth

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// lock locks the key file at path against other commands. It waits at most twice the limit. Its lock is a file next to
// path; one older than limit is considered left over from a crashed program and removed.
func lock(path string, limit time.Duration) (unlock func(), err error) {
	path += ".lock"
	for end := time.Now().Add(2 * limit); ; time.Sleep(10 * time.Millisecond) {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
		if err == nil {
			_ = f.Close()
			return func() { _ = os.Remove(path) }, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, reason(err)
		}
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > limit {
			_ = os.Remove(path)
		}
		if time.Now().After(end) {
			return nil, errLocked
		}
	}
}

// shared returns false: the directory controls access to its files.
func shared(fs.FileInfo) bool { return false }

// keepOwner does nothing here: the directory controls access to new files.
func keepOwner(*os.File, fs.FileInfo) {}

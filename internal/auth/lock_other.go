//go:build !unix

package auth

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// lock waits until nobody else changes the file at path. Here a file beside it is the lock; one that is older than limit was left by a
// program that died.
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

// keepOwner does nothing here: who may read a new file is what its directory says.
func keepOwner(*os.File, fs.FileInfo) {}

//go:build unix

package auth

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// lock locks the key file at path against other commands. It waits at most limit. It locks the directory, so that no
// lock file remains; the lock is also released when the process ends.
func lock(path string, limit time.Duration) (unlock func(), err error) {
	f, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, reason(err)
	}
	for end := time.Now().Add(limit); ; time.Sleep(10 * time.Millisecond) {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return func() { _ = f.Close() }, nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			_ = f.Close()
			return nil, err
		case time.Now().After(end):
			_ = f.Close()
			return nil, errLocked
		}
	}
}

// keepOwner keeps the file's owner when root changes it.
func keepOwner(f *os.File, info fs.FileInfo) {
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 {
		_ = f.Chown(int(owner.Uid), int(owner.Gid))
	}
}

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

// shared reports whether other users may read or write the file, although they must not (see ErrShared).
func shared(info fs.FileInfo) bool {
	owner, ok := info.Sys().(*syscall.Stat_t)
	return sharedWith(info.Mode().Perm(), ok && owner.Uid == 0 && os.Geteuid() != 0)
}

// sharedWith reports the same from the file's mode. granted = the file belongs to root and this program runs as another user, so the
// file's group may read it.
func sharedWith(mode fs.FileMode, granted bool) bool {
	if granted {
		mode &^= 0o040
	}
	return mode&0o077 != 0
}

// keepOwner keeps the file's owner when root changes it.
func keepOwner(f *os.File, info fs.FileInfo) {
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 {
		_ = f.Chown(int(owner.Uid), int(owner.Gid))
	}
}

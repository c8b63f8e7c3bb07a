//go:build unix

package config

import (
	"io/fs"
	"os"
	"syscall"
)

// hasOtherLinks reports whether the file of info has other hard links. Replacing it would leave them with the old content.
func hasOtherLinks(info fs.FileInfo) bool {
	file, ok := info.Sys().(*syscall.Stat_t)
	return ok && file.Nlink > 1
}

// keepOwner sets the owner and group of f to those of info. It matters if root edits the file of another user.
func keepOwner(f *os.File, info fs.FileInfo) error {
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(owner.Uid) == os.Geteuid() && int(owner.Gid) == os.Getegid() {
		return nil
	}
	if err := f.Chown(int(owner.Uid), int(owner.Gid)); err != nil && os.Geteuid() == 0 {
		return err
	}
	return nil // only root can change the owner; for other users, the error is ignored and a different group is lost
}

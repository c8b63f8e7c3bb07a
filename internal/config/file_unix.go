//go:build unix

package config

import (
	"io/fs"
	"os"
	"syscall"
)

// hasOthers tells whether the file of info has other names, which a new file in its place would leave with the old text.
func hasOthers(info fs.FileInfo) bool {
	file, ok := info.Sys().(*syscall.Stat_t)
	return ok && file.Nlink > 1
}

// keepOwner gives f the owner and group of info, which matters when root changes somebody's file.
func keepOwner(f *os.File, info fs.FileInfo) error {
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(owner.Uid) == os.Geteuid() && int(owner.Gid) == os.Getegid() {
		return nil
	}
	if err := f.Chown(int(owner.Uid), int(owner.Gid)); err != nil && os.Geteuid() == 0 {
		return err
	}
	return nil // anybody else may own what they write; a group of another's is lost then
}

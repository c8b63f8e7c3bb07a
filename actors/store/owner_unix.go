//go:build unix

package store

import (
	"io/fs"
	"os"
	"syscall"
)

// ours reports whether the file belongs to the gateway's user.
func ours(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(stat.Uid) == os.Geteuid()
}

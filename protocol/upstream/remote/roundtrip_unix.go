//go:build unix

package remote

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// isStale peeks into the socket without reading. Only for an open idle connection would a read block.
func isStale(fd uintptr) bool {
	var one [1]byte
	_, _, err := unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return err != syscall.EAGAIN
}

//go:build unix

package remote

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// isStale reports whether an idle connection was closed by the server, is broken, or has unexpected data. Otherwise a
// read would block. isStale peeks into the socket and consumes nothing.
func isStale(fd uintptr) bool {
	var one [1]byte
	_, _, err := unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return err != syscall.EAGAIN
}

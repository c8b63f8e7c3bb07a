//go:build unix

package remote

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// isStale looks into the socket without taking anything: only a live idle connection would have to wait.
func isStale(fd uintptr) bool {
	var one [1]byte
	_, _, err := unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return err != syscall.EAGAIN
}

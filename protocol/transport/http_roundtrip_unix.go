//go:build unix

package transport

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// httpLinkIsStale looks into the socket without taking anything: only a live idle connection would have to wait.
func httpLinkIsStale(fd uintptr) bool {
	var one [1]byte
	_, _, err := unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return err != syscall.EAGAIN
}

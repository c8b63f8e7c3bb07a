//go:build unix

package relay

import (
	"errors"

	"golang.org/x/sys/unix"
)

// isQuiet reports whether a socket is open and has nothing to read. It consumes nothing.
func isQuiet(fd uintptr) bool {
	var one [1]byte
	_, _, err := unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return errors.Is(err, unix.EAGAIN)
}

//go:build unix && !linux

package downstream

import "golang.org/x/sys/unix"

const (
	canWatch       = true
	canWatchSecure = false // an unread TLS alert hides the end of the connection
)

// hasLeft reports whether the peer has closed its side. It peeks for the end of the connection, so unread bytes hide it.
func hasLeft(fd uintptr) bool {
	var one [1]byte
	n, _, err := unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return n == 0 && err == nil || err != nil && err != unix.EAGAIN && err != unix.EINTR
}

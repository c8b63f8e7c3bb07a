//go:build unix && !linux

package downstream

import "golang.org/x/sys/unix"

const (
	canWatch       = true
	canWatchSecure = false // the goodbye of TLS waits to be read, and hides the end
)

// hasLeft peeks: an end of file means that the peer has closed its side. Bytes that wait to be read hide it.
func hasLeft(fd uintptr) bool {
	var one [1]byte
	n, _, err := unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return n == 0 && err == nil || err != nil && err != unix.EAGAIN && err != unix.EINTR
}

package downstream

import "golang.org/x/sys/unix"

const (
	canWatch       = true
	canWatchSecure = true
)

// hasLeft reports whether the peer has closed its side, or the connection is broken. Unlike a peeking read, it also detects
// this if unread bytes or a TLS alert precede the end.
func hasLeft(fd uintptr) bool {
	polled := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
	n, err := unix.Poll(polled, 0)
	return err == nil && n > 0 && polled[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
}

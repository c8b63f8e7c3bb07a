package downstream

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// readStray reads the available bytes of a socket into sink, without blocking. It returns how many it has read, and
// whether the client has left or sent too many.
func readStray(socket syscall.RawConn, sink []byte) (n int, left bool) {
	if socket.Control(func(fd uintptr) {
		for !left {
			m, _, err := unix.Recvfrom(int(fd), sink, unix.MSG_DONTWAIT)
			switch {
			case errors.Is(err, unix.EINTR):
			case errors.Is(err, unix.EAGAIN):
				return
			case err != nil || m == 0:
				left = true
			default:
				if n += m; n >= streamStray {
					left = true
				}
			}
		}
	}) != nil {
		return 0, true
	}
	return n, left
}

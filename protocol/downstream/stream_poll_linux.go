package downstream

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// poller detects, for all open streams, that a client has left or sends bytes. It has one goroutine, which ends with
// close. A reading goroutine for each stream would do the same, but its stack is a fifth of the cost of an idle stream.
//
// The sockets remain registered with the Go runtime. The poller's epoll watches them, and the runtime watches the epoll.
type poller struct {
	epoll *os.File
	wait  syscall.RawConn
	found func(number uint64) // called for a stream that is readable
}

// pollBatch is the largest number of events read from the epoll at once.
const pollBatch = 64

// newPoller returns a poller that calls found sequentially. It returns nil if the system cannot provide one.
func newPoller(found func(number uint64)) *poller {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil
	}
	p := &poller{epoll: os.NewFile(uintptr(fd), "epoll"), found: found}
	if p.wait, err = p.epoll.SyscallConn(); err != nil {
		_ = p.epoll.Close()
		return nil
	}
	go p.run()
	return p
}

// watch watches a connection until it is closed. It returns false if the connection cannot be watched.
func (p *poller) watch(socket syscall.RawConn, number uint64) bool {
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET, Fd: int32(uint32(number)), Pad: int32(uint32(number >> 32))}
	failed := p.wait.Control(func(epoll uintptr) {
		if err := socket.Control(func(fd uintptr) {
			if unix.EpollCtl(int(epoll), unix.EPOLL_CTL_ADD, int(fd), &event) != nil {
				number = 0
			}
		}); err != nil {
			number = 0
		}
	})
	return failed == nil && number != 0
}

func (p *poller) run() {
	events := make([]unix.EpollEvent, pollBatch)
	for {
		n := 0
		err := p.wait.Read(func(epoll uintptr) bool {
			var err error
			n, err = unix.EpollWait(int(epoll), events, 0)
			return n > 0 || err != nil && !errors.Is(err, unix.EINTR)
		})
		if err != nil || n <= 0 { // closed
			return
		}
		for _, e := range events[:n] {
			p.found(uint64(uint32(e.Fd)) | uint64(uint32(e.Pad))<<32)
		}
	}
}

// close ends the goroutine. found may still be called until then. close may be called from found.
func (p *poller) close() { _ = p.epoll.Close() }

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

package downstream

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// poller notices for all open streams that a client has left, or says what it has no business to. A goroutine for each stream
// that reads would do the same, but its stack is a fifth of what an idle stream costs. It has one goroutine, which ends with close.
//
// Sockets stay in the runtime's hands: here they are only watched, in an epoll of our own, which the runtime watches in turn.
type poller struct {
	epoll *os.File
	wait  syscall.RawConn
	found func(number uint64) // something is to be read on this stream
}

// pollBatch is how many streams are looked at between two looks at the epoll.
const pollBatch = 64

// newPoller returns a poller that calls found, one call after the other; nil where there is none.
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

// watch adds a connection until that is closed. It reports false when the connection cannot be watched.
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

// close ends the goroutine; found may be called until it has. It may be called there.
func (p *poller) close() { _ = p.epoll.Close() }

// readStray reads into sink what a socket has, without waiting: how many bytes, and whether its peer has closed it.
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

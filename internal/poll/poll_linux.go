package poll

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Poller has one goroutine, which ends with Close. Its methods are safe for concurrent use.
//
// The sockets remain registered with the Go runtime. The poller's epoll watches them, and the runtime watches the epoll.
type Poller struct {
	epoll *os.File
	wait  syscall.RawConn
	found func(number uint64) // called for a socket that is readable
}

// batch is the largest number of events read from the epoll at once.
const batch = 64

// New returns a Poller that calls found sequentially when a socket becomes readable, or when its peer has closed it. found
// must not block. New returns nil if the system cannot provide a Poller.
func New(found func(number uint64)) *Poller {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil
	}
	p := &Poller{epoll: os.NewFile(uintptr(fd), "epoll"), found: found}
	if p.wait, err = p.epoll.SyscallConn(); err != nil {
		_ = p.epoll.Close()
		return nil
	}
	go p.run()
	return p
}

// Watch watches a socket until it is closed. It returns false if the socket cannot be watched. Only bytes that arrive after
// those that found was called for, or an end, lead to another call.
func (p *Poller) Watch(socket syscall.RawConn, number uint64) bool {
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

func (p *Poller) run() {
	events := make([]unix.EpollEvent, batch)
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

// Close ends the goroutine. found may still be called until then. Close may be called from found.
func (p *Poller) Close() { _ = p.epoll.Close() }

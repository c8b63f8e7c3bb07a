package process

import (
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

const (
	// widePipe is the size of the pipe of a program that prints large messages. With the 64 KiB of a new one the program stops for
	// each of them until we have read. 1 MiB is no faster than 256 KiB, as measured: it no longer fits the processor's caches.
	widePipe = 256 << 10
	// widePipes is how many pipes may be so: together half of what a user may have (fs.pipe-user-pages-soft is 64 MiB). Whoever
	// exceeds that gets pipes of one page for everything else.
	widePipes = 128
)

// wide is how many pipes are wide now. The limit is of the whole process, and so is this.
var wide atomic.Int32

// widen makes the pipe wider and reports whether it did: then narrowed is to be called when the pipe is no more.
func widen(pipe *os.File) bool {
	if wide.Add(1) > widePipes {
		wide.Add(-1)
		return false
	}
	done := false
	if raw, err := pipe.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			_, err := unix.FcntlInt(fd, unix.F_SETPIPE_SZ, widePipe)
			done = err == nil
		})
	}
	if !done { // the system has less, or says that we have enough: then it stays as it was
		wide.Add(-1)
	}
	return done
}

func narrowed() { wide.Add(-1) }

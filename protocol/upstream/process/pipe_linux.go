package process

import (
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

const (
	// widePipe is the pipe size for a program that prints large messages. With the default 64 KiB, the program blocks
	// during each message until the gateway has read. 1 MiB was measured to be no faster than 256 KiB, because it
	// exceeds the processor's caches.
	widePipe = 256 << 10
	// widePipes is the maximum number of wide pipes. Together they use half of a user's limit (fs.pipe-user-pages-soft
	// is 64 MiB). Beyond that limit, all new pipes of the user have only one page.
	widePipes = 128
)

// wide is the current number of wide pipes in the process.
var wide atomic.Int32

// widen enlarges the pipe and reports whether it did. In that case, call narrowed after the pipe is closed.
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
	if !done { // the system's limit is lower, or reached
		wide.Add(-1)
	}
	return done
}

func narrowed() { wide.Add(-1) }

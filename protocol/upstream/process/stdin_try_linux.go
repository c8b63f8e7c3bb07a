package process

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// tryWrite returns a function that writes up to atomicBytes to a pipe, all or nothing, without blocking. It returns
// nil if the pipe does not support that. Only one goroutine at a time may use the function.
func tryWrite(stdin stdinPipe) func(p []byte) bool {
	file, ok := stdin.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := file.SyscallConn()
	if err != nil {
		return nil
	}
	var p []byte
	took := false
	write := func(fd uintptr) bool {
		n, err := unix.Write(int(fd), p)
		took = n > 0 && err == nil
		return true
	}
	return func(line []byte) bool {
		p, took = line, false
		err := raw.Write(write)
		p = nil
		return took && err == nil
	}
}

//go:build !linux

package downstream

import "syscall"

func readStray(syscall.RawConn, []byte) (int, bool) { return 0, true }

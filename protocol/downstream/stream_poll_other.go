//go:build !linux

package downstream

import "syscall"

// poller does not exist on this system; a goroutine reads each stream.
type poller struct{}

func newPoller(func(uint64)) *poller { return nil }

func (*poller) watch(syscall.RawConn, uint64) bool { return false }

func (*poller) close() {}

func readStray(syscall.RawConn, []byte) (int, bool) { return 0, true }

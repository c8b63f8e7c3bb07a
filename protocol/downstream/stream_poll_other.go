//go:build !linux

package downstream

import "syscall"

// poller: this system has none that we know of; each stream is read by a goroutine of its own.
type poller struct{}

func newPoller(func(uint64)) *poller { return nil }

func (*poller) watch(syscall.RawConn, uint64) bool { return false }

func (*poller) close() {}

func readStray(syscall.RawConn, []byte) (int, bool) { return 0, true }

//go:build !linux

package poll

import "syscall"

// Poller does not exist on this system; a goroutine reads each connection.
type Poller struct{}

// New returns nil.
func New(func(uint64)) *Poller { return nil }

// Watch is not called.
func (*Poller) Watch(syscall.RawConn, uint64) bool { return false }

// Close is not called.
func (*Poller) Close() {}

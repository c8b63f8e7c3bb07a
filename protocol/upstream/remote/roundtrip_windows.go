package remote

// isStale returns false. On Windows, sockets are overlapped, and peeking would block.
func isStale(uintptr) bool { return false }

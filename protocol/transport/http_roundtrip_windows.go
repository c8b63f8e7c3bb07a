package transport

// httpLinkIsStale cannot tell here: sockets are overlapped, there is no look that does not wait.
func httpLinkIsStale(uintptr) bool { return false }

package transport

import "time"

// httpLinkIsStale cannot tell here: sockets are overlapped, there is no look that does not wait.
func httpLinkIsStale(uintptr) bool { return false }

// httpLinkTrusts: servers close connections that were idle for 5 s (Node) or more; younger ones are believed.
func httpLinkTrusts(idle time.Duration) bool { return idle < 3*time.Second }

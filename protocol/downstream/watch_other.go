//go:build !unix

package downstream

// canWatch: sockets of this system are not asked. Answers become streams instead, and a failing write tells.
const (
	canWatch       = false
	canWatchSecure = false
)

func hasLeft(uintptr) bool { return false }

//go:build !unix

package downstream

// canWatch is false because connections cannot be watched on this system. Responses become event streams instead, and a
// failing write shows that the client has left.
const (
	canWatch       = false
	canWatchSecure = false
)

func hasLeft(uintptr) bool { return false }

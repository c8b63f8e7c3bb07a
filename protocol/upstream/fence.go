package upstream

// Fence says whether this node may run a server that has at most one process in the cluster.
type Fence interface {
	// Held reports whether the node is certainly the only one that may run the server. It does not block, and is called for each frame.
	Held() bool
	// Lost returns a channel that is closed when the node must end the process at once.
	Lost() <-chan struct{}
}

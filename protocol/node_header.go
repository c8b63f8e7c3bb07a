package protocol

// The headers of requests between the nodes of a cluster. Only the listener for other nodes reads them.
const (
	HeaderNodeHolder = "Goblin-Node-Holder" // the holder of the client's key, as in identity.HolderOf
	HeaderNodeHop    = "Goblin-Node-Hop"    // the name of the node that sends a request for a server of the other node
	HeaderNodeKey    = "Goblin-Node-Key"    // identifies the client of a request with HeaderNodeHop
)

// Package cluster holds what the nodes of a cluster share: the cluster's secrets, the keys and certificates that every node
// derives from them, session ids that every node can open, and the messages that nodes send each other.
//
// The first secret seals and signs. Every listed secret opens and is accepted from other nodes, so a secret is replaced
// without an interruption: add the new one second on all nodes, then list it first on all nodes, then remove the old one.
package cluster

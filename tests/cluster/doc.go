// Package cluster tests clusters of gateways as processes of this machine, behind nginx and haproxy, which deal each request
// to the next node. Clients know nothing of the cluster.
package cluster

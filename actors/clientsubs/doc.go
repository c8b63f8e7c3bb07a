// Package clientsubs holds the resource subscriptions of a client, for sessions and subscription streams: which resources,
// on whose connections, and which pools know of them. Nothing here is an actor.
package clientsubs

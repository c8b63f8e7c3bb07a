// Package clientsubs holds the resource subscriptions of a client, for sessions and subscription streams: the resources, the
// connections they are on, and the pools that know of them. It contains no actor.
package clientsubs

// Package clientcalls holds what a session and a stateless session need for the calls of their clients: the timer for
// deadlines, lookups of items in lists that may be out of date, audit records, and the counting of outcomes.
// Nothing here is an actor.
package clientcalls

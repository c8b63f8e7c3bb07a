// Package clientcalls holds what sessions and stateless sessions share for the calls of their clients: the timer for deadlines,
// lookups of items in lists that may be outdated, audit records, and the counting of outcomes. It contains no actor.
package clientcalls

// Package pool is the actor that is one server as the rest of the gateway sees it: it keeps the server's backends,
// picks one for each call, holds the bounded queue, and passes the server's catalog on to the registry.
//
// Invariants: every Dispatch is sent to one backend at a time, or queued, or answered with Failed; nothing that a
// backend may have written is given to another one, unless the configuration allows it, and then once; at most maxConcurrent calls run at once.
package pool

// Package pool implements the actor that represents one server to the rest of the gateway. It owns the server's
// backends, picks one for each call, holds the bounded queue, and passes the server's catalog to the registry.
//
// Invariants:
//   - Every Dispatch is at one backend, waits in the queue or for a login, has been answered, or was canceled.
//   - A call that a server may have executed is not sent again, unless the configuration allows it (retry.inFlight), and
//     then only once.
//   - At most maxConcurrent calls run at once, not counting those that wait for a client's answer or only for the end of a task.
//
// The state consists of components. The files of a component start with its name: calls (call_…), replicas and their
// connections (replica_…, connection_…), subscriptions (subscription_…), logins (login_…), tenants (tenant_…) and the
// catalog (catalog_…).
package pool

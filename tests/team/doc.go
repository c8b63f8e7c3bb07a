// Package team tests the gateway as used by a team: users with keys and roles over TLS, local servers and one that needs a login, and an
// audit log that records everything. Processes, sockets and certificates are real.
package team

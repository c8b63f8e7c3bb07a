// Package team runs the gateway as a team does: people with keys and roles over TLS, servers of the machine and one that wants a login, an audit
// log that tells of all of it afterwards. Processes, sockets and certificates are real. It holds tests only.
package team

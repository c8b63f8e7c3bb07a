// Package logins runs the gateway as a process before a server that wants tokens, with an authorization server of our own, and logs in
// there as people do: by the page behind a loginUrl, and by the commands. It holds tests only.
package logins

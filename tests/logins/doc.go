// Package logins tests logins with the gateway as a process, a protected server and an authorization server: through the page of a
// loginUrl, and through commands.
package logins

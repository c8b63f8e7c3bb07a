// Package access contains the commands for identities and permissions: key, policy, audit, login and logout.
package access

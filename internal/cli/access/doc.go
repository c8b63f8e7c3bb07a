// Package access holds the commands about identities and permissions: key, policy, audit, login and logout.
package access

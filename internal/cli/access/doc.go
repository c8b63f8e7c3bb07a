// Package access contains the commands for identities and permissions: key, cluster, policy, audit, login and logout.
package access

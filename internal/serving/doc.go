// Package serving decides how a gateway process treats clients and configuration changes: which keys and certificate
// are in force, whether a reloaded configuration may take effect, which files are watched, and which secrets are
// removed from logs. It prints nothing.
package serving

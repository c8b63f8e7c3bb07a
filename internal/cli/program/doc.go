// Package program describes the running binary: its version, its path, and the command line that starts it in the user's shell.
package program

// Package command holds what every command follows: exit codes, errors with hints, argument checks and interruption by signals.
package command

// Package command holds what all commands share: exit codes, errors with hints, argument checks and interruption by signals.
package command

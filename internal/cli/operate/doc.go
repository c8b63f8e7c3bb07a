// Package operate contains the commands that inspect and control a running gateway through its admin socket: status,
// health, logs, calls, restart, drain and tui.
package operate

// Package terminal formats text for users: colors, widths, line breaks, progress, and questions at the terminal. Text from outside
// is escaped so that it cannot control the terminal.
package terminal

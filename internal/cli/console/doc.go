// Package console starts the terminal UI for the commands tui and serve --tui.
package console

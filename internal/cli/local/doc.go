// Package local runs a gateway inside the process of a command, for as long as the command takes.
package local

// Package configfile finds, loads and edits the configuration file for commands. It prints the findings of package config and
// sets the exit codes of errors.
package configfile

// Package configfile finds, loads and edits the configuration file for commands. It prints the findings of package config and
// gives errors their exit codes.
package configfile

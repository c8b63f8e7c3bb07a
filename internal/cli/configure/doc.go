// Package configure holds the commands that check, show and change configuration files: config, add, remove, enable, disable,
// migrate and lint. A command that edits the file waits until the running gateway has applied the change.
package configure

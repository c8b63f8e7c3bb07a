// Package configure contains the commands that check, show and change configuration files: config, add, remove, enable,
// disable, migrate and lint. After add, remove, enable and disable have edited the file, they wait until the running
// gateway has applied the change.
package configure

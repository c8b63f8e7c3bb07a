// Package serve contains the commands that run until they are stopped: serve, stdio and demo.
package serve

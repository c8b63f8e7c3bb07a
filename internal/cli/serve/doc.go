// Package serve holds the commands that run something until they are stopped: serve, stdio and demo.
package serve

// Package process starts and stops the processes of a measurement: gateways, raw servers and proxies.
//
// A Group owns the processes of one run. They share a directory and end with the group.
package process

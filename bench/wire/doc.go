// Package wire provides the HTTP/1.1 connections of the load generator and the MCP requests that it sends.
//
// A Conn does only what a measurement needs, so that it uses little of the measured time. A Request can be sent
// repeatedly with a new id each time. This package also defines the small and big calls and the responses of the raw
// servers to them, because clients compare every response byte for byte.
package wire

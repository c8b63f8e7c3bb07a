// Package wire provides the HTTP/1.1 connections of the load generator and the MCP requests that it sends.
//
// A Conn does only what a measurement needs, so that it uses little of the measured time. A Request can be sent
// repeatedly with a new id each time. Small and big calls, and the responses that the raw servers send to them, are
// defined here, because clients compare every response byte for byte.
package wire

// Package actortest is what the tests of actors share: a Probe actor that records what it is told, and a scriptable
// legacy and a modern MCP server at the other end of an in-memory pipe. Everything in it works inside a testing/synctest bubble.
package actortest

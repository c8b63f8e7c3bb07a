// Package actortest is shared by the tests of actors. It has a Probe, an actor that records its messages, and
// scriptable legacy and modern MCP servers on an in-memory pipe. Everything in it works inside a testing/synctest
// bubble.
package actortest

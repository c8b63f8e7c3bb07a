// Package stream provides what both sides of the gateway need to transfer messages over byte streams: a budget of buffered
// bytes, a line reader, a reader of server-sent events, and ropes that collect messages of unknown length.
//
// All buffers are bounded, grow with the bytes received rather than with announced lengths, and are counted in one [Budget].
package stream

// Package stream is what both sides of the gateway need to move messages over byte streams: the budget of buffered bytes,
// lines, the reader of event streams, and ropes, in which a message of unknown length grows.
//
// Everything that buffers is bounded, grows with what came and not with what was promised, and is counted in one [Budget].
package stream

// Package kernel is the house of the actors: protoactor behind our own names.
package kernel

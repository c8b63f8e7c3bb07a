// Package reply holds the effects that write to a client's exchange: answers, messages ahead of the answer, refusals.
// Actors append them to the effects of a step, and Perform executes them.
package reply

// Package reply holds the effects that write to a client's exchange: answers, messages before the answer, and refusals. Actors append
// them to the effects of a step.
package reply

// Package admission is what the actors towards clients (session, desk, listener) share as values: the effects on an exchange, the
// target of a request and what is handed on of it, the clock of deadlines, the counting of outcomes, capabilities,
// subscriptions, and the look for what a list that is out of date may hold by now. Nothing here is an actor.
package admission

// Package target finds the running gateway that a command talks to, and the API key for it.
package target

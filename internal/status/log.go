package status

// LoginHint is the start of a server's hint if a user can log in to it. The list command shows such a hint.
const LoginHint = "log in: "

// Messages of the log that "goblin-actor serve" recognizes on a terminal.
const (
	LogServerReady       = "server is ready"
	LogServerUnavailable = "server is not available"
	LogReloaded          = "configuration reloaded"
)

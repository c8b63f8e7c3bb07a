package status

// LoginHint is the start of Server.Hint if a user can log in to the server. The list command shows such a hint.
const LoginHint = "log in: "

// Log messages that "goblin-actor serve" looks for when it runs on a terminal.
const (
	LogServerReady       = "server is ready"
	LogServerUnavailable = "server is not available"
	LogReloaded          = "configuration reloaded"
)

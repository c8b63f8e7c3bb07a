package status

// Messages of the log that "goblin-actor serve" recognizes on a terminal.
const (
	LogServerReady       = "server is ready"
	LogServerUnavailable = "server is not available"
	LogReloaded          = "configuration reloaded"
)

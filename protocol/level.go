package protocol

// LogLevels are the log levels of MCP, from the most verbose on; not to be written to. MCP 2025-11-25, server/utilities/logging.
var LogLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"} // RFC 5424, 6.2.1

// quotedLevels are they as raw JSON.
var quotedLevels = func() map[string][]byte {
	quoted := map[string][]byte{}
	for _, level := range LogLevels {
		quoted[level] = Quote(level)
	}
	return quoted
}()

// quotedLevel returns a log level as raw JSON, nil when there is no such level.
func quotedLevel(level string) []byte { return quotedLevels[level] }

// isLevel reports whether the raw JSON string is a log level.
func isLevel(raw []byte) bool {
	if len(raw) < 2 {
		return false
	}
	quoted := quotedLevel(string(raw[1 : len(raw)-1]))
	return quoted != nil && string(quoted) == string(raw)
}

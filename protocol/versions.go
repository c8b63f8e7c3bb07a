package protocol

// MCP protocol versions. They are dates and compare as strings.
const (
	Version20241105 = "2024-11-05"
	Version20250326 = "2025-03-26"
	Version20250618 = "2025-06-18"
	Version20251125 = "2025-11-25"
	Version20260728 = "2026-07-28"

	LatestLegacy = Version20251125 // the newest version with initialize
)

// LegacyVersions lists the supported versions with initialize and sessions, newest first. Do not modify it.
var LegacyVersions = []string{Version20251125, Version20250618, Version20250326, Version20241105}

// IsLegacy reports whether v is a supported version with initialize and sessions.
func IsLegacy(v string) bool {
	switch v {
	case Version20241105, Version20250326, Version20250618, Version20251125:
		return true
	}
	return false
}

// Negotiate returns the version for the response to initialize: the requested one if it is a supported legacy
// version, otherwise LatestLegacy. 2026-07-28 has no initialize, so a request for it gets LatestLegacy too. MCP
// 2025-11-25, basic/lifecycle
func Negotiate(requested string) string {
	if IsLegacy(requested) {
		return requested
	}
	return LatestLegacy
}

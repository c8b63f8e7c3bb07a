package protocol

// Protocol versions of MCP: dates, so they compare as strings.
const (
	Version20241105 = "2024-11-05"
	Version20250326 = "2025-03-26"
	Version20250618 = "2025-06-18"
	Version20251125 = "2025-11-25"
	Version20260728 = "2026-07-28"

	LatestLegacy = Version20251125 // newest version that begins with initialize
)

// LegacyVersions are the versions with initialize and sessions, newest first. Not to be written to.
var LegacyVersions = []string{Version20251125, Version20250618, Version20250326, Version20241105}

// IsLegacy reports whether v is a version with initialize and sessions that we speak.
func IsLegacy(v string) bool {
	switch v {
	case Version20241105, Version20250326, Version20250618, Version20251125:
		return true
	}
	return false
}

// Negotiate returns what initialize is answered with: the version asked for if we speak it, else our latest legacy one,
// also to 2026-07-28, which has no initialize. // MCP 2025-11-25, basic/lifecycle
func Negotiate(asked string) string {
	if IsLegacy(asked) {
		return asked
	}
	return LatestLegacy
}

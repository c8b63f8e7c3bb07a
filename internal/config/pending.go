package config

import (
	"slices"
	"strings"
)

// laterSections are sections that are accepted without effect.
var laterSections = []string{"trust"}

// refusedKeys are planned keys that restrict access, by the schema path of their section. A file that relies on one
// is rejected, because running without the restriction would be unsafe.
var refusedKeys = map[string]string{
	"auth":              "jwt|introspection|proxy|broker|clientCA",
	"tls":               "acme|clientCA",
	"policy":            "rules",
	"policy.bind":       "groups|scopes",
	"mcpServers.*":      "sandbox",
	"mcpServers.*.auth": "exchange",
}

// removedKeys maps keys of earlier versions to hints about their replacements. Files that still have them keep working,
// with a warning.
var removedKeys = map[string]string{
	"policy.reveal": "to see which rule denies a call, run goblin-actor policy explain",
	"tracing":       "write telemetry: {endpoint: http://host:4318}",
}

// isRefused reports whether key is planned but not supported yet.
func isRefused(at place, key string) bool {
	return slices.Contains(strings.Split(refusedKeys[at.schema], "|"), key)
}

// foreignKeys are keys of other programs that have no meaning for the gateway. They are ignored with a warning, so that
// these programs' files can be used unchanged.
var foreignKeys = map[string][]string{
	"": {"globalShortcut", "preferences", "isUsingBuiltInNodeForMcp", "isDxtAutoUpdatesEnabled", "locale", "scale",
		"userThemeMode", "hasTrackedInitialActivation", "localAgentModeTrustedFolders", "inputs"},
	"mcpServers": {"autoApprove", "alwaysAllow", "alwaysLoad", "trust", "icon", "gallery", "version", "dev"},
}

// desktopFile is the file name of Claude Desktop. Unknown keys at its root are ignored.
const desktopFile = "claude_desktop_config.json"

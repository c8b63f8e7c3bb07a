package config

import (
	"slices"
	"strings"
)

// laterSections are sections whose keys are not looked at yet.
var laterSections = []string{"admin", "trust", "tracing"}

// refusedKeys are keys that would protect something if they were built: a file that relies on one is refused, not run
// without it. By the place they stand at.
var refusedKeys = map[string]string{
	"auth":              "jwt|introspection|proxy|broker|clientCA",
	"tls":               "acme|clientCA",
	"policy":            "rules",
	"policy.bind":       "groups|scopes",
	"mcpServers.*":      "sandbox",
	"mcpServers.*.auth": "exchange",
}

// removedKeys maps keys of earlier versions to what to use instead. Files that still have them keep working, with a warning.
var removedKeys = map[string]string{
	"policy.reveal": "goblin-actor policy explain names the rule that denies a call",
}

// isRefused tells whether a key is known, and not built yet.
func isRefused(at place, key string) bool {
	return slices.Contains(strings.Split(refusedKeys[at.schema], "|"), key)
}

// foreignKeys are keys that other programs keep in the same file or entry and that change nothing for us: they are
// ignored with a warning, so that such a file works as it is.
var foreignKeys = map[string][]string{
	"": {"globalShortcut", "preferences", "isUsingBuiltInNodeForMcp", "isDxtAutoUpdatesEnabled", "locale", "scale",
		"userThemeMode", "hasTrackedInitialActivation", "localAgentModeTrustedFolders", "inputs"},
	"mcpServers": {"autoApprove", "alwaysAllow", "alwaysLoad", "trust", "icon", "gallery", "version", "dev"},
}

// desktopFile is a file whose unknown keys at the root belong to the program that wrote it.
const desktopFile = "claude_desktop_config.json"

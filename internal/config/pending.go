package config

// laterSections are sections whose keys are not looked at yet.
var laterSections = []string{"auth", "admin", "tls", "policy", "audit", "trust", "tracing"}

// foreignKeys are keys that other programs keep in the same file or entry and that change nothing for us: they are
// ignored with a warning, so that such a file works as it is.
var foreignKeys = map[string][]string{
	"": {"globalShortcut", "preferences", "isUsingBuiltInNodeForMcp", "isDxtAutoUpdatesEnabled", "locale", "scale",
		"userThemeMode", "hasTrackedInitialActivation", "localAgentModeTrustedFolders", "inputs"},
	"mcpServers": {"autoApprove", "alwaysAllow", "alwaysLoad", "trust", "icon", "gallery", "version", "dev"},
}

// desktopFile is a file whose unknown keys at the root belong to the program that wrote it.
const desktopFile = "claude_desktop_config.json"

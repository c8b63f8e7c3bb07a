package config

// pending is what a config may say already and this build does not carry out yet: each use gets one warning.
// A row leaves this table in the change that builds it.
var pending = []struct {
	path  string // keys from the root; * is any one key
	value string // only this value; "" = any
	until string // what happens until then
}{}

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

// pendingAt returns what happens instead of the setting at schema, a path of the table; "" when it is carried out.
func pendingAt(schema, value string) string {
	for _, p := range pending {
		if p.path == schema && (p.value == "" || p.value == value) {
			return p.until
		}
	}
	return ""
}

package desktop

import (
	"cmp"
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"

	"goblin-actor/internal/config"
)

// ErrNotInstalled is returned by Find if the directory of the client's file does not exist.
var ErrNotInstalled = errors.New("the client does not seem to be installed")

// Host describes a machine: the locations of clients' files depend on it.
type Host struct {
	OS     string // a value of runtime.GOOS
	Home   string
	Getenv func(string) string

	IsProgram func(string) bool // reports whether a name or path can be run; nil if none can
}

// ThisHost returns the Host of this process.
func ThisHost() Host {
	home, _ := os.UserHomeDir() // on error home is "", and the paths do not exist
	return Host{OS: runtime.GOOS, Home: home, Getenv: os.Getenv, IsProgram: config.ProgramFinder(os.Getenv("PATH"))}
}

// Candidates returns possible paths of the client's file, the most likely first. A `*` matches the rest of a directory
// name. The file system is not accessed.
func (c Client) Candidates(h Host) []string {
	switch c.ID {
	case "claude-desktop":
		if h.OS == "windows" {
			// Since 2026, Claude Desktop is installed as a package that redirects %APPDATA%. The location depends on its version.
			return []string{
				h.join(h.localData(), "Claude-Data", "claude_*", "claude_desktop_config.json"),
				h.join(h.localData(), "Packages", "Claude_*", "LocalCache", "Roaming", "Claude", "claude_desktop_config.json"),
				h.join(h.settings(), "Claude", "claude_desktop_config.json"),
			}
		}
		return []string{h.join(h.settings(), "Claude", "claude_desktop_config.json")}
	case "claude-code":
		return []string{h.join(cmp.Or(h.Getenv("CLAUDE_CONFIG_DIR"), h.Home), ".claude.json")}
	case "cursor":
		return []string{h.join(h.Home, ".cursor", "mcp.json")}
	case "vscode":
		if portable := h.Getenv("VSCODE_PORTABLE"); portable != "" {
			return []string{h.join(portable, "user-data", "User", "mcp.json")}
		}
		return []string{h.join(h.settings(), "Code", "User", "mcp.json")}
	case "windsurf":
		return []string{h.join(h.Home, ".codeium", "windsurf", "mcp_config.json")}
	}
	switch { // Zed uses .config on macOS, too
	case h.OS == "windows":
		return []string{h.join(h.settings(), "Zed", "settings.json")}
	case h.OS == "darwin":
		return []string{h.join(h.Home, ".config", "zed", "settings.json")}
	}
	return []string{h.join(cmp.Or(h.Getenv("FLATPAK_XDG_CONFIG_HOME"), h.settings()), "zed", "settings.json")}
}

// settings returns the directory for user settings.
func (h Host) settings() string {
	switch h.OS {
	case "windows":
		return cmp.Or(h.Getenv("APPDATA"), h.join(h.Home, "AppData", "Roaming"))
	case "darwin":
		return h.join(h.Home, "Library", "Application Support")
	}
	if dir := h.Getenv("XDG_CONFIG_HOME"); strings.HasPrefix(dir, "/") { // the XDG specification says to ignore a relative path
		return dir
	}
	return h.join(h.Home, ".config")
}

func (h Host) localData() string {
	return cmp.Or(h.Getenv("LOCALAPPDATA"), h.join(h.Home, "AppData", "Local"))
}

// join joins path elements with the separator of h.
func (h Host) join(parts ...string) string {
	parts[0] = strings.TrimRight(parts[0], h.separator())
	return strings.Join(parts, h.separator())
}

func (h Host) separator() string {
	if h.OS == "windows" {
		return `\`
	}
	return "/"
}

// Find returns the client's file on h: the first candidate whose directory exists, even if the file does not. If there
// is none, it returns ErrNotInstalled and the last candidate.
func (c Client) Find(h Host) (path string, err error) {
	for _, candidate := range c.Candidates(h) {
		for _, path = range h.expand(candidate) {
			dir := path[:strings.LastIndex(path, h.separator())]
			if info, err := os.Stat(dir); err == nil && info.IsDir() {
				return path, nil
			}
		}
	}
	return path, ErrNotInstalled
}

// expand returns the paths that match a candidate.
func (h Host) expand(candidate string) []string {
	before, rest, starred := strings.Cut(candidate, "*")
	if !starred {
		return []string{candidate}
	}
	cut := strings.LastIndex(before, h.separator())
	entries, err := os.ReadDir(before[:cut])
	if err != nil {
		return nil
	}
	var paths []string
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), before[cut+1:]) {
			paths = append(paths, before[:cut+1]+entry.Name()+rest)
		}
	}
	slices.Sort(paths)
	return paths
}

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

// ErrNotInstalled is behind the error of Find when there is no directory the client would keep its file in.
var ErrNotInstalled = errors.New("it does not seem to be installed")

// Host is all that the places of files depend on.
type Host struct {
	OS     string // as runtime.GOOS
	Home   string
	Getenv func(string) string

	IsProgram func(string) bool // reports whether a name or path can be run; nil = none can
}

// ThisHost is the machine and user this program runs for.
func ThisHost() Host {
	home, _ := os.UserHomeDir() // "" makes paths that are not there
	return Host{OS: runtime.GOOS, Home: home, Getenv: os.Getenv, IsProgram: config.ProgramFinder(os.Getenv("PATH"))}
}

// Candidates lists where the client may keep its file, the likeliest first. A `*` in a path stands for the rest of one
// directory's name. Nothing is looked up.
func (c Client) Candidates(h Host) []string {
	switch c.ID {
	case "claude-desktop":
		if h.OS == "windows" {
			// Since 2026 it is installed as a package, which redirects %APPDATA%; its versions did so to different places.
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
	switch { // zed: also on macOS among the dot files
	case h.OS == "windows":
		return []string{h.join(h.settings(), "Zed", "settings.json")}
	case h.OS == "darwin":
		return []string{h.join(h.Home, ".config", "zed", "settings.json")}
	}
	return []string{h.join(cmp.Or(h.Getenv("FLATPAK_XDG_CONFIG_HOME"), h.settings()), "zed", "settings.json")}
}

// settings is the directory where programs of that system keep what a user has set.
func (h Host) settings() string {
	switch h.OS {
	case "windows":
		return cmp.Or(h.Getenv("APPDATA"), h.join(h.Home, "AppData", "Roaming"))
	case "darwin":
		return h.join(h.Home, "Library", "Application Support")
	}
	if dir := h.Getenv("XDG_CONFIG_HOME"); strings.HasPrefix(dir, "/") { // a relative one is ignored: XDG base directories
		return dir
	}
	return h.join(h.Home, ".config")
}

func (h Host) localData() string {
	return cmp.Or(h.Getenv("LOCALAPPDATA"), h.join(h.Home, "AppData", "Local"))
}

// join joins with the separator of h, whatever system this is.
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

// Find is the client's file on h: the first candidate whose directory is there, whether or not the file is. The error
// is ErrNotInstalled when there is none; path is then where the file would be looked for.
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

// expand lists the paths a candidate stands for.
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

package desktop

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func host(system, home string, env ...string) Host {
	return Host{OS: system, Home: home, Getenv: func(name string) string {
		for _, pair := range env {
			if value, ok := strings.CutPrefix(pair, name+"="); ok {
				return value
			}
		}
		return ""
	}}
}

func TestCandidates(t *testing.T) {
	linux, mac, windows := host("linux", "/home/u"), host("darwin", "/Users/u"), host("windows", `C:\Users\u`)
	moved := host("linux", "/home/u", "XDG_CONFIG_HOME=/cfg/", "CLAUDE_CONFIG_DIR=/cc", "VSCODE_PORTABLE=/port")
	relative := host("linux", "/home/u", "XDG_CONFIG_HOME=cfg")
	redirected := host("windows", `C:\Users\u`, `APPDATA=D:\Roam`, `LOCALAPPDATA=D:\Loc`)
	for _, c := range []struct {
		id   string
		h    Host
		want []string
	}{
		{"claude-desktop", linux, []string{"/home/u/.config/Claude/claude_desktop_config.json"}},
		{"claude-desktop", moved, []string{"/cfg/Claude/claude_desktop_config.json"}},
		{"claude-desktop", relative, []string{"/home/u/.config/Claude/claude_desktop_config.json"}},
		{"claude-desktop", mac, []string{"/Users/u/Library/Application Support/Claude/claude_desktop_config.json"}},
		{"claude-desktop", windows, []string{
			`C:\Users\u\AppData\Local\Claude-Data\claude_*\claude_desktop_config.json`,
			`C:\Users\u\AppData\Local\Packages\Claude_*\LocalCache\Roaming\Claude\claude_desktop_config.json`,
			`C:\Users\u\AppData\Roaming\Claude\claude_desktop_config.json`}},
		{"claude-desktop", redirected, []string{
			`D:\Loc\Claude-Data\claude_*\claude_desktop_config.json`,
			`D:\Loc\Packages\Claude_*\LocalCache\Roaming\Claude\claude_desktop_config.json`,
			`D:\Roam\Claude\claude_desktop_config.json`}},
		{"claude-code", linux, []string{"/home/u/.claude.json"}},
		{"claude-code", moved, []string{"/cc/.claude.json"}},
		{"claude-code", mac, []string{"/Users/u/.claude.json"}},
		{"claude-code", windows, []string{`C:\Users\u\.claude.json`}},
		{"cursor", linux, []string{"/home/u/.cursor/mcp.json"}},
		{"cursor", mac, []string{"/Users/u/.cursor/mcp.json"}},
		{"cursor", redirected, []string{`C:\Users\u\.cursor\mcp.json`}},
		{"vscode", linux, []string{"/home/u/.config/Code/User/mcp.json"}},
		{"vscode", moved, []string{"/port/user-data/User/mcp.json"}},
		{"vscode", mac, []string{"/Users/u/Library/Application Support/Code/User/mcp.json"}},
		{"vscode", windows, []string{`C:\Users\u\AppData\Roaming\Code\User\mcp.json`}},
		{"windsurf", linux, []string{"/home/u/.codeium/windsurf/mcp_config.json"}},
		{"windsurf", mac, []string{"/Users/u/.codeium/windsurf/mcp_config.json"}},
		{"windsurf", windows, []string{`C:\Users\u\.codeium\windsurf\mcp_config.json`}},
		{"zed", linux, []string{"/home/u/.config/zed/settings.json"}},
		{"zed", moved, []string{"/cfg/zed/settings.json"}},
		{"zed", mac, []string{"/Users/u/.config/zed/settings.json"}},
		{"zed", redirected, []string{`D:\Roam\Zed\settings.json`}},
	} {
		client, ok := ByID(c.id)
		if got := client.Candidates(c.h); !ok || !slices.Equal(got, c.want) {
			t.Errorf("%s on %s: %q, want %q", c.id, c.h.OS, got, c.want)
		}
	}
	if _, ok := ByID("emacs"); ok || len(IDs()) != len(Clients) {
		t.Error("ByID found an unknown client")
	}
}

// TestFind checks that the first existing directory is used, and that package names match a pattern.
func TestFind(t *testing.T) {
	home := t.TempDir()
	client, _ := ByID("cursor")
	h := host("linux", home)
	if path, err := client.Find(h); !errors.Is(err, ErrNotInstalled) || path != home+"/.cursor/mcp.json" {
		t.Errorf("no directory exists: %q, %v", path, err)
	}
	if err := os.Mkdir(filepath.Join(home, ".cursor"), 0o700); err != nil {
		t.Fatal(err)
	}
	if path, err := client.Find(h); err != nil || path != home+"/.cursor/mcp.json" {
		t.Errorf("%q, %v", path, err)
	}
	if runtime.GOOS != "windows" {
		return
	}
	client, _ = ByID("claude-desktop")
	dir := filepath.Join(home, "AppData", "Local", "Packages", "Claude_x1", "LocalCache", "Roaming", "Claude")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if path, err := client.Find(host("windows", home)); err != nil || path != filepath.Join(dir, "claude_desktop_config.json") {
		t.Errorf("%q, %v", path, err)
	}
}

func TestExpand(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"Claude_b", "Claude_a", "Other"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	dir = filepath.ToSlash(dir)
	got := host("linux", "").expand(dir + "/Claude_*/x/f.json")
	if want := []string{dir + "/Claude_a/x/f.json", dir + "/Claude_b/x/f.json"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

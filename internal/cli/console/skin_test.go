package console

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"goblin-actor/internal/config"
	"goblin-actor/tui"
)

// The skin in docs/tui.md is valid and styles every part.
func TestSkinInTheDocs(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "tui.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	example, _, _ := strings.Cut(rest, "```")
	path := filepath.Join(t.TempDir(), "skin.yaml")
	if err := os.WriteFile(path, []byte(example), 0o600); err != nil {
		t.Fatal(err)
	}
	var o tui.Options
	var said strings.Builder
	if err := setSkin(&o, path, &said); err != nil || said.Len() > 0 {
		t.Fatalf("setSkin: %v\n%s", err, said.String())
	}
	if got := slices.Sorted(maps.Keys(o.Skin)); !slices.Equal(got, tui.Parts()) {
		t.Errorf("docs/tui.md styles the parts %q, want %q", got, tui.Parts())
	}
}

// The flag takes precedence over the variable. A name is that of a built-in palette or of a file in skins/.
func TestSetSkin(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", home)
	path := config.SkinPath("dark", os.Getenv)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("good: lime\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ flag, variable, palette, good string }{
		{"", "", "", ""},
		{"mono", "dark", "mono", ""},
		{"dark", "mono", "", "lime"},
		{"", "dark", "", "lime"},
	} {
		t.Setenv("GOBLIN_SKIN", c.variable)
		var o tui.Options
		var said strings.Builder
		if err := setSkin(&o, c.flag, &said); err != nil || o.Palette != c.palette || o.Skin["good"].Foreground != c.good {
			t.Errorf("setSkin(%q, %q) = %+v, %v; want palette %q, good %q", c.flag, c.variable, o, err, c.palette, c.good)
		}
	}
}

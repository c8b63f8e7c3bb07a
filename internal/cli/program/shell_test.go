package program

import (
	"testing"
)

func TestShellWords(t *testing.T) {
	for _, c := range []struct {
		system string
		words  []string
		want   string
	}{
		{"linux", []string{"npx", "-y", "@scope/server", "."}, "npx -y @scope/server ."},
		{"linux", []string{"sh", "-c", "echo 'a' >&2; exit 1", ""}, `sh -c 'echo '\''a'\'' >&2; exit 1' ''`},
		{"linux", []string{`a\b`, "$HOME", "über"}, `'a\b' '$HOME' 'über'`},
		{"windows", []string{`C:\Program Files\x.exe`, "-v", `say "hi"`}, `"C:\Program Files\x.exe" -v "say \"hi\""`},
	} {
		if got := ShellWords(c.words, c.system); got != c.want {
			t.Errorf("ShellWords(%q, %s) = %s, want %s", c.words, c.system, got, c.want)
		}
	}
}

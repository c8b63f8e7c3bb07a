//go:build unix

package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Opening a log makes its file readable and writable by its owner only, whatever state the file is in. Each permission
// of group and others is tested separately.
func TestOpenMakesFilePrivate(t *testing.T) {
	line := linesOf(t, writeLog(t, 0, nil))[0]
	for _, content := range []struct {
		name string
		text []byte
	}{{"a log", append(line, '\n')}, {"an empty file", nil}, {"part of a line", line[:20]}} {
		for bit := os.FileMode(0o001); bit <= 0o040; bit <<= 1 {
			t.Run(fmt.Sprintf("%s, mode %04o", content.name, 0o600|bit), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "audit.jsonl")
				if err := os.WriteFile(path, content.text, 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Chmod(path, 0o600|bit); err != nil {
					t.Fatal(err)
				}
				addTo(t, path, 1, nil)
				info, err := os.Stat(path)
				if err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("got mode %v, %v; want 0600", info.Mode(), err)
				}
			})
		}
	}
}

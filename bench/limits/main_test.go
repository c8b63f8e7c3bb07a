package limits

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"testing"

	"goblin-actor/bench/report"
	"goblin-actor/internal/gatetest"
)

// buildDir is the directory of the built program, or "" if it was not built.
var buildDir string

// build builds the program once. Tests start it as servers and gateway.
var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ga")
	if err != nil {
		return "", err
	}
	buildDir = dir
	return gatetest.Build(dir)
})

func TestMain(m *testing.M) {
	code := m.Run()
	if buildDir != "" {
		_ = os.RemoveAll(buildDir)
	}
	os.Exit(code)
}

func gateway(t *testing.T) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// checkColumns checks that every line of the report's table fits a terminal.
func checkColumns(t *testing.T, result *report.Report) {
	t.Helper()
	var table bytes.Buffer
	if err := result.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(table.String()) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 {
			t.Errorf("a line has %d columns: %s", n, line)
		}
	}
}

package console

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"goblin-actor/tui"
)

// A skin that was saved is read again, once the file has stopped changing. A file that is missing is not an error.
func TestSkinIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dark.yaml")
	saves := 0
	save := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		saves++ // the clock of the file system may be coarse
		if at := time.Unix(int64(saves), 0); os.Chtimes(path, at, at) != nil {
			t.Fatal("the time of the file cannot be set")
		}
	}
	save("good: lime\n")
	var o tui.Options
	if err := setSkin(&o, path, os.Stderr); err != nil || o.Reread == nil {
		t.Fatalf("setSkin: %v", err)
	}
	// each call of Reread: the color of "good", or the error
	next := func(want ...string) {
		t.Helper()
		for _, want := range want {
			skin, err := o.Reread()
			got := skin["good"].Foreground
			if err != nil {
				got = err.Error()
			}
			if got != want && (want == "" || !strings.Contains(got, want)) || (skin == nil) != (want == "" || err != nil) {
				t.Errorf("got %v, %v, want %q", skin, err, want)
			}
		}
	}
	next("", "", "")
	save("good: gree")
	next("")
	save("good: green\n")
	next("", "green", "")
	save("good: grene\n")
	next("", `dark.yaml:1:7: good: got "grene", want a color; did you mean green?`, "")
	save("selected: {}\n\n")
	next("", "no color or attribute", "")
	save("match: {bold: false}\n")
	next("", "match: same style as plain text", "")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	next("", "", "")
	save("good: aqua\n")
	next("", "aqua", "")
}

package console

import (
	"fmt"
	"os"
	"testing"

	"goblin-actor/tui"
)

// A pipe, which can be read only once, is not read again.
func TestSkinOfAPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := w.WriteString("good: lime\n"); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	path := fmt.Sprintf("/dev/fd/%d", r.Fd())
	var o tui.Options
	if err := setSkin(&o, path, os.Stderr); err != nil || o.Skin["good"].Foreground != "lime" {
		t.Fatalf("%s: %v, skin %v", path, err, o.Skin)
	}
	for range 3 {
		if skin, err := o.Reread(); skin != nil || err != nil {
			t.Errorf("read again: %v, %v", skin, err)
		}
	}
}

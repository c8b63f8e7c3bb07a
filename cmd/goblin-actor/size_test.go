package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// maxBinary is what the program may weigh, stripped.
const maxBinary = 24 << 20

// One call of a method by a name that the compiler does not know has the linker keep every exported method of every type, a quarter of the
// binary; text/template makes such calls, and so did a library of a library. `-ldflags=-dumpdep` shows them as <ReflectMethod>.
func TestBinaryIsSmall(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("builds the program; the bound is that of linux/amd64")
	}
	file := filepath.Join(t.TempDir(), "goblin-actor")
	if out, err := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > maxBinary {
		t.Errorf("the program takes %d bytes, at most %d", info.Size(), maxBinary)
	}
}

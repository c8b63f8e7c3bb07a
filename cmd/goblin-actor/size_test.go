package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// maxBinary is the maximum size of the stripped program. The OpenTelemetry SDK accounts for 2.8 MB. The streams, counters
// and forms of the console increased the size from 27.5 MB to 28.4 MB, and NATS by another 9.4 MB. The
// rest of the cluster accounts for 0.7 MB.
const maxBinary = 40 << 20

// If code calls a method by a name that is unknown at compile time, the linker keeps every exported method of every
// type, which is a quarter of the binary. text/template does so, and so did an indirect dependency. `-ldflags=-dumpdep`
// shows such calls as <ReflectMethod>.
//
// The OpenTelemetry SDK imports grpc, which does so too, for a page that the program does not serve. The tag grpcnotrace,
// which `make build` sets, leaves the page out. Without the tag, the program has 34.2 MB and starts 1.5 ms later.
func TestBinaryIsSmall(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("builds the program; the limit is for linux/amd64")
	}
	file := filepath.Join(t.TempDir(), "goblin-actor")
	if out, err := exec.Command("go", "build", "-tags=grpcnotrace", "-trimpath", "-ldflags=-s -w", "-o", file, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > maxBinary {
		t.Errorf("the binary has %d bytes; the limit is %d", info.Size(), maxBinary)
	}
}

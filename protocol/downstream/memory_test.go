//go:build linux && !race

package downstream

import (
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"
)

// residentKiB returns VmRSS of this process.
func residentKiB(t testing.TB) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("no VmRSS")
	return 0
}

const idleStreams = 2000

// An idle stream costs at most 16 KiB of resident memory, including its client, which runs in the same process. The test runs
// in a process of its own, so that it does not measure other tests.
func TestStreamMemory(t *testing.T) {
	if os.Getenv("GOBLIN_STREAM_MEMORY") == "" {
		command := exec.Command(os.Args[0], "-test.run=^TestStreamMemory$", "-test.v")
		command.Env = append(os.Environ(), "GOBLIN_STREAM_MEMORY=1")
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, "KiB") {
				t.Log(strings.TrimSpace(line))
			}
		}
		return
	}
	handler, streams := keepStreams()
	_, address := serve(t, handler, Options{}, testLimits)
	openStream(t, dial(t, address))
	kept := []*EventStream{<-streams}
	debug.FreeOSMemory()
	before := residentKiB(t)
	for range idleStreams {
		c := dial(t, address)
		openStream(t, c)
		c.r = nil // the client's buffers are not measured
		kept = append(kept, <-streams)
	}
	as := residentKiB(t)
	debug.FreeOSMemory()
	after := residentKiB(t)
	each := float64(after-before) / idleStreams
	t.Logf("%d idle streams: %.1f KiB each after a collection, %.1f before it", idleStreams, each, float64(as-before)/idleStreams)
	if each > 16 {
		t.Errorf("%.1f KiB each", each)
	}
	gone := make(chan struct{}, len(kept))
	for _, stream := range kept {
		stream.OnGone(func() { gone <- struct{}{} })
		stream.Close()
	}
	for range kept {
		select {
		case <-gone:
		case <-time.After(2 * time.Minute):
			t.Fatal("the streams have not ended")
		}
	}
}

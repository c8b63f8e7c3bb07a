package telemetry_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/config"
	"goblin-actor/internal/gatetest"
	"goblin-actor/internal/status"
	"goblin-actor/internal/telemetry"
	"goblin-actor/internal/telemetry/otlptest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// noneIsLeft waits until no goroutine of the telemetry or of the SDK is left.
func noneIsLeft(t *testing.T) {
	t.Helper()
	gatetest.WaitFor(t, "the end of all goroutines", func() (bool, string) {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		return !bytes.Contains(stacks, []byte("go.opentelemetry.io/otel/")) && !bytes.Contains(stacks, []byte("goblin-actor/internal/telemetry.")), string(stacks)
	})
}

// maxHeld is the maximum memory that finished calls and log lines take while the collector does not answer. With the longest
// payloads and lines, 23 MiB were measured.
const maxHeld = 32 << 20

// While the collector hangs, calls do not wait, and the memory is bounded.
func TestMemoryIsBounded(t *testing.T) {
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
	t.Setenv("OTEL_BLRP_SCHEDULE_DELAY", "20")
	hang := otlptest.New(t, func(http.ResponseWriter, *http.Request) { <-t.Context().Done() })
	o := telemetry.Start(telemetry.Options{Config: config.Telemetry{Endpoint: hang.URL, Payloads: true}, Version: "1", Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(o.Shutdown)
	log := slog.New(o.Logs(slog.NewTextHandler(io.Discard, nil)))
	params := strings.Repeat("a", 8<<10)
	var frame protocol.Frame
	if err := frame.Parse([]byte(strings.Replace(plainCall, "boom", params, 1))); err != nil {
		t.Fatal(err)
	}
	call := func(n int) {
		for i := range n {
			x := &downstream.Exchange{Frame: frame, Began: time.Now(), Origin: downstream.Origin{Remote: "127.0.0.1:1", Version: "2025-11-25", SessionID: "0123456789"}}
			if err := x.Params.Scan(&x.Frame); err != nil {
				t.Fatal(err)
			}
			o.Began(x)
			x.Report.Item = fmt.Sprint("tool", i)
			o.CallEnded("one", status.Ended{Method: protocol.MethodToolsCall, Item: x.Report.Item, Began: x.Began, Sent: x.Began, Took: time.Millisecond, Trace: x.Report.Trace})
			o.Answered(x, frame.Raw)
			log.Warn("line", "text", params)
		}
	}
	call(1)
	gatetest.WaitFor(t, "an export", func() (bool, string) { n, _ := hang.Requests(); return n > 0, "" })
	before := heap()
	call(5_000)
	held := heap() - before
	began := time.Now()
	call(5_000)
	t.Logf("%.1f MiB after 5000 calls, %.1f MiB after 10000; a call takes %s", mib(held), mib(heap()-before), time.Since(began)/5_000)
	if after := heap() - before; held > maxHeld || after > maxHeld {
		t.Errorf("%.1f MiB are in use after 5000 calls, %.1f MiB after 10000", mib(held), mib(after))
	}
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }

// heap returns the memory in use after a garbage collection.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

package telemetry_test

import (
	"log/slog"
	"testing"
	"time"

	"goblin-actor/internal/config"
	"goblin-actor/internal/status"
	"goblin-actor/internal/telemetry"
	"goblin-actor/internal/telemetry/otlptest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// BenchmarkCall measures what telemetry adds to a call: the sampling decision and, for a sampled call, the spans. The
// goroutines that export run at the same time. Counting for the metrics is not measured.
func BenchmarkCall(b *testing.B) {
	for name, share := range map[string]string{"unsampled": "0", "1 percent": "0.01", "sampled": "1"} {
		b.Run(name, func(b *testing.B) {
			b.Setenv("OTEL_TRACES_SAMPLER", "traceidratio")
			b.Setenv("OTEL_TRACES_SAMPLER_ARG", share)
			o := telemetry.Start(telemetry.Options{Config: config.Telemetry{Endpoint: otlptest.New(b, nil).URL}, Log: slog.New(slog.DiscardHandler)})
			b.Cleanup(o.Shutdown)
			var frame protocol.Frame
			if err := frame.Parse([]byte(plainCall)); err != nil {
				b.Fatal(err)
			}
			whole := downstream.Exchange{Frame: frame, Origin: downstream.Origin{Remote: "127.0.0.1:1", Version: "2025-11-25", SessionID: "0123456789"}}
			if err := whole.Params.Scan(&whole.Frame); err != nil {
				b.Fatal(err)
			}
			whole.Report.Item = "one_echo"
			now := time.Now()
			b.ReportAllocs()
			for b.Loop() {
				x := &whole
				x.Began, x.Report.Trace = now, nil
				o.Began(x)
				o.CallEnded("one", status.Ended{Method: protocol.MethodToolsCall, Item: "echo", Began: now, Sent: now, Took: time.Millisecond, Trace: x.Report.Trace})
				o.Answered(x, frame.Raw)
			}
		})
	}
}

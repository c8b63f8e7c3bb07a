package actors

import (
	"time"

	"goblin-actor/internal/status"
	"goblin-actor/protocol/downstream"
)

// requests counts the requests of clients and passes them to the telemetry, if any. It implements downstream.Observer.
type requests struct {
	metrics   *status.Metrics
	telemetry Telemetry // nil = none
}

// Began implements downstream.Observer.
func (r *requests) Began(x *downstream.Exchange) {
	if r.telemetry != nil {
		r.telemetry.Began(x)
	}
}

// Answered implements downstream.Observer.
func (r *requests) Answered(x *downstream.Exchange, answer []byte) {
	a := status.Answer{Method: x.Frame.Method, Item: x.Report.Item, Version: x.Report.Version, Transport: "http",
		Error: status.ErrorType(x.Report.Code, x.Report.ToolErr, x.Report.Cancelled), Took: time.Since(x.Began), Trace: x.Report.Trace}
	if a.Version == "" {
		a.Version = x.Origin.Version
	}
	if x.Origin.Stdio {
		a.Transport = "stdio"
	}
	r.metrics.Answered(&a)
	if r.telemetry != nil {
		r.telemetry.Answered(x, answer)
	}
}

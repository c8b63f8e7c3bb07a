package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

const clockURI = "clock://now"

// maxWait limits the duration of the tool wait.
const maxWait = 10 * time.Minute

// NewClock returns a server with a resource that changes every second, and a tool, wait, that takes as long as requested.
func NewClock() *Server {
	s := New("clock", "1.0.0")
	s.Instructions = "Read clock://now for the time; subscribe to it to be notified every second. The tool \"wait\" waits for the given number of seconds and reports progress."
	s.AddTool(Tool{
		Name: "now", Title: "What time is it", Description: "Tell the time, in UTC or in a time zone such as Europe/Berlin.",
		Input:       json.RawMessage(`{"type":"object","properties":{"zone":{"type":"string","description":"IANA name of a time zone; default UTC"}},"additionalProperties":false}`),
		Output:      json.RawMessage(`{"type":"object","properties":{"time":{"type":"string"},"unix":{"type":"integer"}},"required":["time","unix"]}`),
		Annotations: json.RawMessage(`{"readOnlyHint":true,"openWorldHint":false}`),
		Handle:      tellTime,
	})
	s.AddTool(Tool{
		Name: "wait", Title: "Wait", Description: "Wait for some seconds, in steps, and report progress after each. Can be canceled.",
		Input:       json.RawMessage(`{"type":"object","properties":{"seconds":{"type":"number","minimum":0,"maximum":600},"steps":{"type":"integer","minimum":1,"maximum":1000,"description":"number of progress reports; default 5"}},"required":["seconds"],"additionalProperties":false}`),
		Annotations: json.RawMessage(`{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}`),
		Handle:      wait,
	})
	s.SetResource(Resource{
		URI: clockURI, Name: "now", Title: "The time", Description: "The time in UTC; it changes every second.", MIMEType: "text/plain",
		Handle: func(*Call) (any, error) {
			return ReadResult{[]ResourceText{{clockURI, "text/plain", time.Now().UTC().Format(time.RFC3339)}}}, nil
		},
	})
	s.Background = func(ctx context.Context) {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				s.Updated(clockURI)
			case <-ctx.Done():
				return
			}
		}
	}
	return s
}

func tellTime(c *Call) (any, error) {
	var args struct {
		Zone string `json:"zone"`
	}
	if err := c.Bind(&args); err != nil {
		return nil, err
	}
	zone, err := time.LoadLocation(args.Zone)
	if err != nil {
		return nil, fmt.Errorf("unknown time zone %q; try Europe/Berlin or UTC", args.Zone)
	}
	now := time.Now().In(zone)
	r := Text("%s", now.Format(time.RFC3339))
	r.Structured = map[string]any{"time": now.Format(time.RFC3339), "unix": now.Unix()}
	return r, nil
}

func wait(c *Call) (any, error) {
	args := struct {
		Seconds *float64 `json:"seconds"`
		Steps   int      `json:"steps"`
	}{Steps: 5}
	if err := c.Bind(&args); err != nil {
		return nil, err
	}
	switch {
	case args.Seconds == nil:
		return nil, fmt.Errorf("seconds is required: how long to wait")
	case *args.Seconds < 0 || *args.Seconds > maxWait.Seconds():
		return nil, fmt.Errorf("seconds must be from 0 to %v, got %v", maxWait.Seconds(), *args.Seconds)
	case args.Steps < 1 || args.Steps > 1000:
		return nil, fmt.Errorf("steps must be from 1 to 1000, got %d", args.Steps)
	}
	step := time.Duration(*args.Seconds * float64(time.Second) / float64(args.Steps))
	timer := time.NewTicker(max(step, 1))
	defer timer.Stop()
	for i := 1; i <= args.Steps; i++ {
		select {
		case <-timer.C:
			c.Progress(float64(i), float64(args.Steps), fmt.Sprintf("step %d of %d", i, args.Steps))
		case <-c.Context.Done():
			return nil, context.Cause(c.Context)
		}
	}
	return Text("waited %v seconds in %d steps", *args.Seconds, args.Steps), nil
}

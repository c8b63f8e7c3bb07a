package bench

import (
	"fmt"
	"strconv"

	"goblin-actor/bench/load"
	"goblin-actor/bench/process"
	"goblin-actor/bench/report"
	"goblin-actor/bench/server"
	"goblin-actor/bench/wire"
)

// sampledShare is the share of calls that the gateway "1 % sampled" traces.
const sampledShare = "0.01"

// telemetry measures the cost of exporting traces, metrics and logs. It sends the same calls through separate gateways to
// one server. The first two export nothing; the difference between them is the noise of the measurement.
func (s *setup) telemetry(result *report.Report) error {
	tail := wire.SmallTail()
	web, err := s.Helper("server")
	if err != nil {
		return err
	}
	collector, err := s.Helper("collector")
	if err != nil {
		return err
	}
	hanging, err := s.Helper("collector", "--hang")
	if err != nil {
		return err
	}
	var targets []*load.Target
	for i, variant := range []struct {
		name, share string
		to          *process.Process
	}{
		{openGateway, "0", nil},
		{"gateway, again", "0", nil},
		{"gateway, 1 % sampled", sampledShare, collector},
		{"gateway, all sampled", "1", collector},
		{"gateway, collector hangs", "1", hanging},
	} {
		endpoint := "off"
		if variant.to != nil {
			endpoint = "http://" + variant.to.URL.Host
		}
		s.Env = []string{"OTEL_TRACES_SAMPLER=parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG=" + variant.share, "OTEL_METRIC_EXPORT_INTERVAL=1000"}
		at, err := s.gatewayOver(web, strconv.Itoa(i), map[string]any{"telemetry": map[string]any{"endpoint": endpoint}})
		if err != nil {
			return fmt.Errorf("%s: %w", variant.name, err)
		}
		targets = append(targets, &load.Target{Name: variant.name, At: at.Process, Scrape: true, Method: "tools/call", Params: []string{wire.CallParams("h0_echo")}, Tail: tail})
	}
	result.Bytes, result.Base = len(wire.ResponseHead)+wire.IDDigits+len(tail), openGateway
	s.plan(len(s.o.Concurrency) * load.Turns(s.o.Rounds, targets))
	if err := s.rows(result, targets); err != nil {
		return err
	}
	return exported(collector.URL.Host)
}

// exported returns an error if the collector has received no spans.
func exported(host string) error {
	w, err := wire.Dial("tcp", host)
	if err != nil {
		return err
	}
	defer w.Close()
	body, err := w.Get(host, server.CollectorPath)
	if err := w.Expect("read the number of exports", 200, nil, err); err != nil {
		return err
	}
	if string(body) == "0" {
		return fmt.Errorf("the collector has received no spans")
	}
	return nil
}

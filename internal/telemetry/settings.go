package telemetry

import (
	"net/url"
	"os"
	"strings"

	"goblin-actor/internal/config"
)

// settings holds the effective values of the configuration and the OTEL_* variables.
type settings struct {
	traces, metrics, logs signal
	sampler               sampler
	delta                 bool // histograms are exported with delta temporality, not cumulative
	problems              []problem
}

// signal is one kind of telemetry.
type signal struct {
	on   bool
	name string // TRACES | METRICS | LOGS, as in the variables
	url  string // from the configuration; "" = the SDK takes it from the variables
	host string // for log messages
}

// problem is an environment variable that is ignored.
type problem struct{ variable, reason string }

const exporterPrefix = "OTEL_EXPORTER_OTLP_"

func (s *settings) on() bool { return s.traces.on || s.metrics.on || s.logs.on }

// destination returns the host of the first exported signal, for log messages.
func (s *settings) destination() string {
	for _, sig := range []signal{s.traces, s.metrics, s.logs} {
		if sig.on {
			return sig.host
		}
	}
	return ""
}

// settingsOf returns the effective settings. It reports problems in the variables only if telemetry is enabled.
func settingsOf(c config.Telemetry) settings {
	var s settings
	s.traces.name, s.metrics.name, s.logs.name = "TRACES", "METRICS", "LOGS"
	if c.Endpoint == config.TelemetryOff || !wanted(c) {
		return s
	}
	if off := s.boolean("OTEL_SDK_DISABLED"); off {
		return s
	}
	s.choose(&s.traces, c, "/v1/traces")
	s.choose(&s.metrics, c, "/v1/metrics")
	s.choose(&s.logs, c, "/v1/logs")
	s.sampler = s.samplerOf(os.Getenv("OTEL_TRACES_SAMPLER"), os.Getenv("OTEL_TRACES_SAMPLER_ARG"))
	s.temporality()
	s.check()
	return s
}

// wanted reports whether the configuration or a variable names a collector.
func wanted(c config.Telemetry) bool {
	if c.Endpoint != "" {
		return true
	}
	for _, name := range []string{"", "TRACES_", "METRICS_", "LOGS_"} {
		if get(exporterPrefix+name+"ENDPOINT") != "" {
			return true
		}
	}
	return false
}

// get returns a variable without surrounding spaces. An empty variable counts as unset, as the OpenTelemetry
// specification requires.
func get(name string) string { return strings.TrimSpace(os.Getenv(name)) }

// choose decides whether a signal is exported, and where to.
func (s *settings) choose(sig *signal, c config.Telemetry, path string) {
	variable := "OTEL_" + sig.name + "_EXPORTER"
	switch exporter := strings.ToLower(get(variable)); exporter {
	case "", "otlp":
	case "none":
		return
	default:
		s.ignore(variable, "only otlp and none are supported; nothing is exported for this signal")
		return
	}
	if c.Endpoint != "" {
		u, err := url.Parse(c.Endpoint) // checked by the configuration
		if err != nil {
			return
		}
		sig.on, sig.url, sig.host = true, strings.TrimSuffix(c.Endpoint, "/")+path, u.Host
		return
	}
	variable = exporterPrefix + sig.name + "_ENDPOINT"
	text := get(variable)
	if text == "" {
		variable = exporterPrefix + "ENDPOINT"
		text = get(variable)
	}
	if text == "" {
		return
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		s.ignore(variable, "not a URL like http://127.0.0.1:4318; nothing is exported for this signal")
		return
	}
	if !s.protocolIsHTTP(sig.name) {
		return
	}
	sig.on, sig.host = true, u.Host
}

// protocolIsHTTP reports whether the variables select http/protobuf, the only supported protocol, or none.
func (s *settings) protocolIsHTTP(name string) bool {
	variable := exporterPrefix + name + "_PROTOCOL"
	text := get(variable)
	if text == "" {
		variable = exporterPrefix + "PROTOCOL"
		text = get(variable)
	}
	if text == "" || text == "http/protobuf" {
		return true
	}
	s.ignore(variable, "only http/protobuf is supported; nothing is exported for this signal. Set it to http/protobuf and the endpoint to the collector's HTTP port, usually 4318")
	return false
}

// temporality reads whether histograms are exported with delta temporality.
func (s *settings) temporality() {
	const variable = exporterPrefix + "METRICS_TEMPORALITY_PREFERENCE"
	switch strings.ToLower(get(variable)) {
	case "", "cumulative":
	case "delta", "lowmemory":
		s.delta = true
	default:
		s.ignore(variable, "want cumulative, delta or lowmemory")
	}
}

// boolean reads a variable that is true or false.
func (s *settings) boolean(variable string) bool {
	switch strings.ToLower(get(variable)) {
	case "true":
		return true
	case "", "false":
	default:
		s.ignore(variable, "want true or false")
	}
	return false
}

// ignore records a problem with a variable, once per variable.
func (s *settings) ignore(variable, reason string) {
	for _, p := range s.problems {
		if p.variable == variable {
			return
		}
	}
	s.problems = append(s.problems, problem{variable, reason})
}

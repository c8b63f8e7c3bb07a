package config

import "net/url"

// TelemetryOff is the Telemetry.Endpoint that disables the export.
const TelemetryOff = "off"

// Telemetry exports traces, metrics and logs to an OpenTelemetry collector, with OTLP over HTTP. The variables `OTEL_*`
// of the gateway's environment configure everything else, such as `OTEL_TRACES_SAMPLER` and
// `OTEL_EXPORTER_OTLP_HEADERS`.
type Telemetry struct {
	// Endpoint is the collector's address, such as `http://127.0.0.1:4318`. `off` exports nothing. Default: `OTEL_EXPORTER_OTLP_ENDPOINT` of
	// the environment; without it, nothing is exported.
	Endpoint string `key:"endpoint"`

	// Payloads adds arguments and results of tool calls to spans, up to 4 KiB each, with known secrets redacted.
	Payloads bool `key:"payloads"`
}

// checkTelemetry reports an endpoint that is not a URL.
func (d *decoder) checkTelemetry(c *Config) {
	if c.Telemetry.Endpoint == "" || c.Telemetry.Endpoint == TelemetryOff {
		return
	}
	u, err := url.Parse(c.Telemetry.Endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		d.complain("telemetry.endpoint", "not the URL of a collector", "write http://host:4318 or https://host/path, without a user, a query or the path of a signal (/v1/traces); set credentials with OTEL_EXPORTER_OTLP_HEADERS")
	}
}

package telemetry

import (
	"crypto/tls"
	"crypto/x509"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// integers maps the variables that hold an integer to their minimum values.
var integers = map[string]int{
	"OTEL_BSP_SCHEDULE_DELAY": 0, "OTEL_BSP_EXPORT_TIMEOUT": 0, "OTEL_BSP_MAX_QUEUE_SIZE": 1, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": 1,
	"OTEL_BLRP_SCHEDULE_DELAY": 0, "OTEL_BLRP_EXPORT_TIMEOUT": 0, "OTEL_BLRP_MAX_QUEUE_SIZE": 1, "OTEL_BLRP_MAX_EXPORT_BATCH_SIZE": 1,
	"OTEL_METRIC_EXPORT_INTERVAL": 1, "OTEL_METRIC_EXPORT_TIMEOUT": 1,
	"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": 0, "OTEL_ATTRIBUTE_COUNT_LIMIT": 0, "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT": 0,
	"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": 0, "OTEL_SPAN_EVENT_COUNT_LIMIT": 0, "OTEL_SPAN_LINK_COUNT_LIMIT": 0,
}

// check reports the variables whose values the SDK would ignore. The SDK would report them without their names, or not
// at all.
func (s *settings) check() {
	for variable, least := range integers {
		s.integer(variable, least)
	}
	s.pairs("OTEL_RESOURCE_ATTRIBUTES")
	for _, name := range []string{"", "TRACES_", "METRICS_", "LOGS_"} {
		of := exporterPrefix + name
		s.integer(of+"TIMEOUT", 0)
		s.pairs(of + "HEADERS")
		if text := get(of + "COMPRESSION"); text != "" && text != "gzip" && text != "none" {
			s.ignore(of+"COMPRESSION", "want gzip or none")
		}
		s.certificates(of)
	}
}

func (s *settings) integer(variable string, least int) {
	if text := get(variable); text != "" {
		if n, err := strconv.Atoi(text); err != nil || n < least {
			s.ignore(variable, "want a whole number of at least "+strconv.Itoa(least))
		}
	}
}

// pairs checks a list like a=1,b=2. Its values may be secret, so the reason does not repeat them.
func (s *settings) pairs(variable string) {
	text := get(variable)
	if text == "" {
		return
	}
	for pair := range strings.SplitSeq(text, ",") {
		key, value, found := strings.Cut(pair, "=")
		if _, err := url.PathUnescape(value); !found || strings.TrimSpace(key) == "" || err != nil {
			s.ignore(variable, "want name=value pairs, separated by commas, with special characters as %XX")
			return
		}
	}
}

// certificates checks the files of a TLS configuration.
func (s *settings) certificates(of string) {
	if file := get(of + "CERTIFICATE"); file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			s.ignore(of+"CERTIFICATE", "the file cannot be read: "+reasonOf(err))
		} else if !x509.NewCertPool().AppendCertsFromPEM(pem) {
			s.ignore(of+"CERTIFICATE", "the file has no certificate in PEM format")
		}
	}
	cert, key := get(of+"CLIENT_CERTIFICATE"), get(of+"CLIENT_KEY")
	switch {
	case cert == "" && key == "":
	case key == "":
		s.ignore(of+"CLIENT_CERTIFICATE", "it needs "+of+"CLIENT_KEY")
	case cert == "":
		s.ignore(of+"CLIENT_KEY", "it needs "+of+"CLIENT_CERTIFICATE")
	default:
		if _, err := tls.LoadX509KeyPair(cert, key); err != nil {
			s.ignore(of+"CLIENT_CERTIFICATE", "the certificate or its key cannot be used: "+err.Error())
		}
	}
}

// reasonOf returns the reason of a file error without the path, which the user knows from the variable.
func reasonOf(err error) string {
	text := err.Error()
	return text[strings.LastIndex(text, ": ")+1+len(" "):]
}

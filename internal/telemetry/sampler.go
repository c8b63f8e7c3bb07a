package telemetry

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"strconv"
	"strings"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"goblin-actor/internal/trace"
)

// sampler decides which requests are traced.
type sampler struct {
	root   sdktrace.Sampler // for requests without a parent
	parent bool             // if set, a request with a parent is sampled if the parent is; otherwise root decides for it too
}

// samplerOf returns the sampler of the variables OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG.
func (s *settings) samplerOf(name, argument string) sampler {
	name = strings.ToLower(strings.TrimSpace(name))
	base, parent := strings.CutPrefix(name, "parentbased_")
	switch base {
	case "":
		return sampler{sdktrace.AlwaysSample(), true}
	case "always_on":
		return sampler{sdktrace.AlwaysSample(), parent}
	case "always_off":
		return sampler{sdktrace.NeverSample(), parent}
	case "traceidratio":
		return sampler{sdktrace.TraceIDRatioBased(s.ratio(argument)), parent}
	}
	s.ignore("OTEL_TRACES_SAMPLER", "want always_on, always_off, traceidratio, or one of them prefixed with parentbased_; using parentbased_always_on")
	return sampler{sdktrace.AlwaysSample(), true}
}

// ratio parses the fraction of traces to sample.
func (s *settings) ratio(text string) float64 {
	text = strings.TrimSpace(text)
	if text == "" {
		return 1
	}
	ratio, err := strconv.ParseFloat(text, 64)
	if err != nil || !(ratio >= 0 && ratio <= 1) {
		s.ignore("OTEL_TRACES_SAMPLER_ARG", "want a number from 0 to 1; using 1")
		return 1
	}
	return ratio
}

// sampledFlag is the flag of a sampled span in a traceparent.
const sampledFlag = 1

// samples reports whether a request is traced. It does not allocate.
func (s sampler) samples(parent trace.Context, id [16]byte) bool {
	if s.parent && parent.Present() {
		return parent.Flags&sampledFlag != 0
	}
	return s.root.ShouldSample(sdktrace.SamplingParameters{ParentContext: context.Background(), TraceID: id}).Decision == sdktrace.RecordAndSample
}

// newTraceID returns a random trace ID.
func newTraceID() (id [16]byte) {
	binary.NativeEndian.PutUint64(id[:8], rand.Uint64())
	binary.NativeEndian.PutUint64(id[8:], rand.Uint64()|1) // never all zeros, which would be invalid
	return id
}

// newSpanID returns a random span ID.
func newSpanID() (id [8]byte) {
	binary.NativeEndian.PutUint64(id[:], rand.Uint64()|1)
	return id
}

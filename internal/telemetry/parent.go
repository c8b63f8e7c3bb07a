package telemetry

import (
	"encoding/hex"

	"goblin-actor/internal/trace"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
)

// maxState is the maximum length of a tracestate that is passed on.
const maxState = 512

// parentOf returns the trace context in params._meta without its tracestate, or the zero value. It does not allocate.
func parentOf(x *downstream.Exchange) trace.Context {
	if !x.Params.Meta.Present() {
		return trace.Context{}
	}
	value := rawjson.Member(x.Frame.Raw, x.Params.Meta, "traceparent").Of(x.Frame.Raw)
	if len(value) < 2 || value[0] != '"' {
		return trace.Context{}
	}
	return parse(value[1 : len(value)-1])
}

// stateOf returns the tracestate in params._meta, or "".
func stateOf(x *downstream.Exchange) string {
	value := rawjson.Member(x.Frame.Raw, x.Params.Meta, "tracestate").Of(x.Frame.Raw)
	if len(value) == 0 || len(value) > maxState || value[0] != '"' {
		return ""
	}
	text, _ := rawjson.Unquote(value)
	return text
}

// parse returns the context of a traceparent, or the zero value if it is not valid (W3C Trace Context, section 3.2).
func parse(text []byte) (c trace.Context) {
	const size = len("00-") + 32 + len("-") + 16 + len("-00")
	if len(text) < size || text[2] != '-' || text[35] != '-' || text[52] != '-' {
		return trace.Context{}
	}
	var version, flags [1]byte
	switch {
	case !decode(version[:], text[:2]), !decode(c.Trace[:], text[3:35]), !decode(c.Span[:], text[36:52]), !decode(flags[:], text[53:55]):
		return trace.Context{}
	case version[0] == 0xff, version[0] == 0 && len(text) != size, len(text) > size && text[size] != '-':
		return trace.Context{}
	case c.Span == [8]byte{}:
		return trace.Context{}
	}
	c.Flags = flags[0]
	return c
}

// decode reads lower-case hexadecimal digits.
func decode(dst, text []byte) bool {
	for _, b := range text {
		if b >= 'A' && b <= 'F' {
			return false
		}
	}
	_, err := hex.Decode(dst, text)
	return err == nil
}

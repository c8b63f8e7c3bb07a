package protocol

import (
	"strconv"

	"goblin-actor/protocol/rawjson"
)

// Check compares the Mcp-Param headers of a request with its arguments (raw JSON object, or nil). It returns nil if they
// agree and ignores other Mcp-Param headers. header is as in EraOf, but not nil. Check allocates only for faults, escapes
// and base64. MCP 2026-07-28, basic/transports/streamable-http, server behavior for custom headers
func (b *Bindings) Check(header func(name string) string, args []byte) *Fault {
	if b == nil {
		return nil
	}
	var values [MaxBindings]rawjson.Span
	if twice := collect(args, rawjson.Whole(args), b.root, &values); twice {
		return mismatch("Header mismatch: an argument with an Mcp-Param header is repeated")
	}
	for i, name := range b.headers {
		got, value := header(name), values[i].Of(args)
		if value == nil || string(value) == "null" {
			if got != "" {
				return mismatch("Header mismatch: " + name + " is present, but the argument " + clip(b.paths[i]) + " is not")
			}
			continue
		}
		if got == "" && string(value) != `""` {
			return mismatch("Header mismatch: " + name + " is missing")
		}
		text, ok := DecodeHeaderValue(got)
		if !ok {
			return mismatch("Header mismatch: the value of " + name + " is malformed")
		}
		if !equalsValue(value, text) {
			return mismatch("Header mismatch: " + name + " header value '" + clip(text) + "' does not match the argument " + clip(b.paths[i]))
		}
	}
	return nil
}

// Headers returns the Mcp-Param headers for the arguments. It skips arguments that are absent, null, or not representable.
func (b *Bindings) Headers(args []byte) []HeaderField {
	if b == nil {
		return nil
	}
	var values [MaxBindings]rawjson.Span
	collect(args, rawjson.Whole(args), b.root, &values)
	var out []HeaderField
	for i, name := range b.headers {
		if text, ok := valueText(values[i].Of(args)); ok {
			if out == nil {
				out = make([]HeaderField, 0, len(b.headers)-i)
			}
			out = append(out, HeaderField{name, EncodeHeaderValue(text)})
		}
	}
	return out
}

// collect finds the bound arguments of an object, indexed by header. If a bound key is repeated, its last value counts
// and twice is true.
func collect(raw []byte, object rawjson.Span, bounds []bound, values *[MaxBindings]rawjson.Span) (twice bool) {
	var seen uint64
	for w := rawjson.WalkMembers(raw, object); w.Next(); {
		for i := range bounds {
			b := &bounds[i]
			if !rawjson.KeyIs(w.Key, b.key) {
				continue
			}
			twice = twice || seen>>i&1 != 0
			seen |= 1 << i
			if b.header >= 0 {
				values[b.header] = w.Value
			}
			if b.below != nil {
				twice = collect(raw, w.Value, b.below, values) || twice
			}
		}
	}
	return twice
}

// valueText returns a raw JSON value as header text. It reports false for values that headers cannot carry.
func valueText(raw []byte) (string, bool) {
	if len(raw) == 0 {
		return "", false
	}
	switch raw[0] {
	case '"':
		return rawjson.Unquote(raw)
	case 't', 'f':
		return string(raw), true
	}
	n, ok := integer(raw)
	return strconv.FormatInt(n, 10), ok
}

// equalsValue reports whether a raw JSON value equals header text. Integers are compared as numbers, strings and booleans as
// text. Other values never match.
func equalsValue(raw []byte, text string) bool {
	switch c := raw[0]; {
	case c == '"':
		return rawjson.StringIs(raw, text)
	case c == 't', c == 'f':
		return string(raw) == text
	case c == '-' || c-'0' < 10:
		if n, ok := integer(raw); !ok {
			return false
		} else if string(raw) != text {
			m, ok := integerText(text)
			return ok && m == n
		}
		return true
	}
	return false
}

// integerText is like integer, but text may be invalid JSON.
func integerText(text string) (int64, bool) {
	raw := []byte(text)
	if len(raw) == 0 || raw[0] != '-' && raw[0]-'0' > 9 || scanNumber(raw, 0) != len(raw) {
		return 0, false
	}
	return integer(raw)
}

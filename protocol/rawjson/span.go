package rawjson

// Span is a half-open range of bytes [Off, End) of a JSON text. The zero Span means that a value is absent.
type Span struct{ Off, End uint32 }

// Whole returns the span of all of raw.
func Whole(raw []byte) Span { return Span{End: uint32(len(raw))} }

// Present reports whether the value exists.
func (s Span) Present() bool { return s.End > s.Off }

// Of returns the span's bytes in raw, or nil if the span is absent. The result shares raw's memory.
func (s Span) Of(raw []byte) []byte {
	if !s.Present() {
		return nil
	}
	return raw[s.Off:s.End:s.End]
}

// typeNames maps the first byte of a JSON value to the name of its type.
var typeNames = map[byte]string{'"': "a string", '{': "an object", '[': "an array", 't': "a boolean", 'f': "a boolean", 'n': "null"}

// TypeName returns the type of the value at span with its article, such as "a string", or "missing" if it is absent.
func TypeName(raw []byte, span Span) string {
	if !span.Present() {
		return "missing"
	}
	if name, ok := typeNames[raw[span.Off]]; ok {
		return name
	}
	return "a number"
}

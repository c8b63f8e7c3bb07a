package rawjson

// Span is a half-open range of bytes [Off, End) in some raw JSON text. The zero Span means absent: no JSON value is empty.
type Span struct{ Off, End uint32 }

// Whole returns the span of all of raw.
func Whole(raw []byte) Span { return Span{End: uint32(len(raw))} }

// Present reports whether the span names anything.
func (s Span) Present() bool { return s.End > s.Off }

// Of returns the bytes of raw the span names, nil when absent. The result shares raw's memory.
func (s Span) Of(raw []byte) []byte {
	if !s.Present() {
		return nil
	}
	return raw[s.Off:s.End:s.End]
}

// typeNames names the type of a JSON value by its first byte.
var typeNames = map[byte]string{'"': "a string", '{': "an object", '[': "an array", 't': "a boolean", 'f': "a boolean", 'n': "null"}

// typeOf names the type of the JSON value at span.
func TypeName(raw []byte, span Span) string {
	if !span.Present() {
		return "missing"
	}
	if name, ok := typeNames[raw[span.Off]]; ok {
		return name
	}
	return "a number"
}

package protocol

import (
	"bytes"
	"math"

	"goblin-actor/protocol/rawjson"
)

// Keys of the envelope, as bits of envelope.seen.
const (
	keyVersion = 1 << iota
	keyID
	keyMethod
	keyParams
	keyResult
	keyError
)

// Parse parses one message. f.Raw becomes raw without surrounding white space, so raw must not be modified afterwards.
// Parse takes one pass and allocates only for errors.
//
// The error is a *ParseError. After an error, f.Kind is KindInvalid. If the message is an object and the error is not
// ErrSyntax, ErrDepth or ErrTooLarge, f.Raw is set, so that the message can be answered. f.ID is then set as well if
// the id is valid and the error is not ErrDuplicate.
func (f *Frame) Parse(raw []byte) error {
	*f = Frame{}
	if uint64(len(raw)) > math.MaxUint32 {
		return fault(ErrTooLarge, len(raw), "a message must be smaller than 4 GiB")
	}
	s := scanner{raw: trimSpace(raw)}
	return f.parse(&s)
}

// byteOrderMark is U+FEFF in UTF-8.
const byteOrderMark = "\xef\xbb\xbf"

// Trim returns raw without surrounding white space and without a leading byte order mark, which RFC 8259, section 8.1,
// allows parsers to ignore.
func Trim(raw []byte) []byte {
	raw = trimSpace(raw)
	if len(raw) < len(byteOrderMark) || string(raw[:len(byteOrderMark)]) != byteOrderMark {
		return raw
	}
	return trimSpace(raw[len(byteOrderMark):])
}

// trimSpace returns raw without surrounding white space.
func trimSpace(raw []byte) []byte {
	for len(raw) > 0 && rawjson.IsSpace(raw[0]) {
		raw = raw[1:]
	}
	for len(raw) > 0 && rawjson.IsSpace(raw[len(raw)-1]) {
		raw = raw[:len(raw)-1]
	}
	return raw
}

func (f *Frame) parse(s *scanner) error {
	raw := s.raw
	if len(raw) == 0 || raw[0] != '{' {
		i := s.value(0)
		if i == len(raw) {
			return fault(ErrShape, 0, "a message must be an object")
		} else if i >= 0 {
			i = ^i
		}
		return s.error(i)
	}
	var e envelope
	i := e.members(f, s)
	if i == len(raw) {
		f.Raw, f.Newline, f.Resource, f.Failure = raw, s.newline, s.resource, s.failure
		return e.finish(f)
	} else if i >= 0 {
		i = ^i
	}
	*f = Frame{}
	return s.error(i)
}

// envelope is the state of Parse in addition to the frame.
type envelope struct {
	seen    uint8
	version bool // jsonrpc is "2.0"

	ambiguous bool // a key occurs twice, escaped, or in another case
}

// members reads the object at offset 0 and sets f's spans. It returns the offset after the object, or ^offset of an error.
func (e *envelope) members(f *Frame, s *scanner) int {
	raw := s.raw
	s.open(1)
	i := s.space(1)
	if i < len(raw) && raw[i] == '}' {
		return i + 1
	}
	for {
		key := i
		if i >= len(raw) || raw[i] != '"' {
			return ^i
		}
		if i = scanString(raw, i); i < 0 {
			return i
		}
		text := raw[key+1 : i-1]
		if i = s.colon(i); i < 0 {
			return i
		}
		at := i
		if i >= len(raw) {
			return ^i
		}
		if c := raw[i]; c == '{' || c == '[' {
			i = s.value(i)
		} else {
			i = scalar(raw, i)
		}
		if i < 0 {
			return i
		}
		e.member(f, raw, text, rawjson.Span{Off: uint32(at), End: uint32(i)})
		if i < len(raw) && raw[i] <= ' ' {
			i = s.space(i)
		}
		if i >= len(raw) {
			return ^i
		}
		switch raw[i] {
		case '}':
			return i + 1
		case ',':
			if i++; i < len(raw) && raw[i] <= ' ' {
				i = s.space(i)
			}
		default:
			return ^i
		}
	}
}

// member records the member with the given key, which is a raw string without its quotes.
func (e *envelope) member(f *Frame, raw, key []byte, value rawjson.Span) {
	var bit uint8
	switch string(key) {
	case "jsonrpc":
		bit, e.version = keyVersion, string(raw[value.Off:value.End]) == `"2.0"`
	case "id":
		bit, f.ID = keyID, value
	case "method":
		bit, f.RawMethod = keyMethod, value
	case "params":
		bit, f.Params = keyParams, value
	case "result":
		bit, f.Result = keyResult, value
	case "error":
		bit, f.Error = keyError, value
	default:
		if disguised(key) {
			e.ambiguous = true
		}
		return
	}
	if e.seen&bit != 0 {
		e.ambiguous = true
	}
	e.seen |= bit
}

// disguised reports whether a lenient decoder, such as encoding/json, could match the key to a key of the envelope.
func disguised(key []byte) bool {
	var buffer [rawjson.FoldedLength]byte
	switch string(rawjson.FoldKey(buffer[:0], key)) {
	case "jsonrpc", "id", "method", "params", "result", "error":
		return true
	}
	return false
}

// finish checks the members found and sets f.Kind and f.Method.
func (e *envelope) finish(f *Frame) error {
	err := e.checkKeys(f)
	if err != nil {
		f.Kind = KindInvalid
		if e.ambiguous || !validID(f.ID.Of(f.Raw)) {
			f.ID = rawjson.Span{}
		}
	}
	return err
}

func (e *envelope) checkKeys(f *Frame) error {
	if e.ambiguous {
		return fault(ErrDuplicate, 0, "the keys jsonrpc, id, method, params, result and error must occur at most once, unescaped and in lower case")
	}
	if !e.version {
		return fault(ErrVersion, 0, `want "jsonrpc":"2.0"`)
	}
	id := f.ID.Of(f.Raw)
	null := string(id) == "null"
	if id != nil && !null && !validID(id) {
		return fault(ErrShape, int(f.ID.Off), "id: want string or integer")
	}
	if e.seen&keyMethod != 0 {
		return e.checkRequest(f, null)
	}
	return e.checkResponse(f, null)
}

func (e *envelope) checkRequest(f *Frame, nullID bool) error {
	if f.Raw[f.RawMethod.Off] != '"' {
		return fault(ErrShape, int(f.RawMethod.Off), "method: want string")
	}
	if e.seen&(keyResult|keyError) != 0 {
		return fault(ErrShape, 0, "a message with a method must not have a result or an error")
	}
	if nullID {
		return fault(ErrShape, int(f.ID.Off), "id: null is not allowed in a request")
	}
	if e.seen&keyParams != 0 && f.Raw[f.Params.Off] != '{' && f.Raw[f.Params.Off] != '[' {
		return fault(ErrShape, int(f.Params.Off), "params: want object or array")
	}
	f.Kind = KindRequest
	if e.seen&keyID == 0 {
		f.Kind = KindNotification
	}
	name := f.Raw[f.RawMethod.Off+1 : f.RawMethod.End-1]
	if f.Method = ParseMethod(name); f.Method == MethodOther {
		f.Method = parseEscapedMethod(name)
	}
	return nil
}

// checkResponse also accepts {"result":…,"error":null} and {"result":null,"error":{…}}, since some servers write both.
func (e *envelope) checkResponse(f *Frame, nullID bool) error {
	if e.seen&keyResult != 0 && e.seen&keyError != 0 {
		if string(f.Error.Of(f.Raw)) == "null" {
			f.Error = rawjson.Span{}
		} else if string(f.Result.Of(f.Raw)) == "null" {
			f.Result = rawjson.Span{}
		} else {
			return fault(ErrShape, 0, "a response must not have both a result and an error")
		}
	}
	switch {
	case f.Error.Present():
		if f.Raw[f.Error.Off] != '{' {
			return fault(ErrShape, int(f.Error.Off), "error: want object")
		}
		f.Kind = KindError
	case f.Result.Present():
		if nullID || !f.ID.Present() {
			return fault(ErrShape, 0, "a response with a result must have an id")
		}
		f.Kind = KindResult
	default:
		return fault(ErrShape, 0, "the message has neither a method nor a result nor an error")
	}
	return nil
}

// validID reports whether the raw value is a string or an integer: no fraction except zeros, no negative exponent.
// Ids are not used as numbers, so size and spelling do not matter: 1e3 and 9007199254740993 stay as they are.
func validID(id []byte) bool {
	if len(id) == 0 || id[0] == '"' {
		return len(id) > 0
	}
	if c := id[0]; c != '-' && (c < '0' || c > '9') {
		return false
	}
	fraction := false
	for i, c := range id {
		switch {
		case c == '.':
			fraction = true
		case c|0x20 == 'e':
			return id[i+1] != '-'
		case fraction && c != '0':
			return false
		}
	}
	return true
}

// parseEscapedMethod is like ParseMethod, but takes a raw string without its quotes that may have escapes ("tools\/call").
func parseEscapedMethod(body []byte) Method {
	const longest = 6 * 40 // every character as \uXXXX
	if len(body) > longest || bytes.IndexByte(body, '\\') < 0 {
		return MethodOther
	}
	var buffer [longest]byte
	name, _ := rawjson.AppendUnescaped(buffer[:0], body)
	return ParseMethod(name)
}

package protocol

import (
	"bytes"
	"math"
	"strconv"

	"goblin-actor/protocol/rawjson"
)

// codeURLRequired is the error of a legacy server that requires the user to open a URL before the call. MCP 2025-11-25,
// client/elicitation
const codeURLRequired = -32042

// ErrorNumber returns the code of an error response. It reports false if the code is not an integer.
func ErrorNumber(f *Frame) (int, bool) {
	n, ok := integer(rawjson.Member(f.Raw, f.Error, "code").Of(f.Raw))
	return int(n), ok && int64(int(n)) == n
}

// IsError reports whether an error response is complete: it has an integer code and a message. JSON-RPC 2.0, section 5.1;
// MCP 2025-11-25, schema, Error
func IsError(f *Frame) bool {
	_, ok := ErrorNumber(f)
	text := rawjson.Member(f.Raw, f.Error, "message").Of(f.Raw)
	return ok && text != nil && text[0] == '"'
}

// integer reads a raw JSON number. It reports false unless the number is an integer, in any notation, whose absolute
// value is at most maxSafeInteger.
func integer(raw []byte) (int64, bool) {
	if len(raw) == 0 || raw[0] != '-' && raw[0]-'0' > 9 {
		return 0, false
	}
	n, err := strconv.ParseFloat(string(raw), 64)
	return int64(n), err == nil && n == math.Trunc(n) && math.Abs(n) <= maxSafeInteger
}

// maxSafeInteger is the largest integer that JavaScript represents exactly.
const maxSafeInteger = 1<<53 - 1

// TranslateError appends the edits that translate the code of a server's error to the client's era, which is to. The
// server must be of the other era. m is the method of the request. uri is the raw JSON string of the client's URI for
// resources/read, or nil to keep data.uri. An error that needs no translation is left unchanged.
//
//	resource not found      -32002 ↔ -32602; a -32602 means not found if it has data.uri or "not found" in its message
//	-32020 to -32099        -32603 with data.originalCode: these codes refer to the request that the gateway wrote
//	-32002, other methods   -32603 with data.originalCode for modern clients, which must not receive -32002
//
// -32042 is in the second range. A caller that can forward the elicitations to the client checks URLElicitations first.
// MCP 2026-07-28, basic, error codes
func TranslateError(edits []rawjson.Edit, m Method, f *Frame, uri []byte, to Era) []rawjson.Edit {
	at := rawjson.Member(f.Raw, f.Error, "code")
	code, ok := integer(at.Of(f.Raw))
	if !ok {
		return edits
	}
	data := rawjson.Member(f.Raw, f.Error, "data")
	switch {
	case m == MethodResourcesRead && to == EraModern && code == codeResourceNotFound:
		return putURI(append(edits, rawjson.Edit{Span: at, With: numberInvalidParams}), f, data, uri)
	case m == MethodResourcesRead && to == EraLegacy && code == codeInvalidParams && notFound(f, data):
		return putURI(append(edits, rawjson.Edit{Span: at, With: numberNotFound}), f, data, uri)
	case -32099 <= code && code <= -32020, to == EraModern && code == codeResourceNotFound:
		original := strconv.AppendInt(nil, code, 10)
		return putOriginalCode(append(edits, rawjson.Edit{Span: at, With: numberInternal}), f, data, original)
	}
	return edits
}

var (
	numberInvalidParams = strconv.AppendInt(nil, codeInvalidParams, 10)
	numberNotFound      = strconv.AppendInt(nil, codeResourceNotFound, 10)
	numberInternal      = strconv.AppendInt(nil, codeInternal, 10)
)

// notFound reports whether an error -32602 of resources/read means that the resource does not exist.
func notFound(f *Frame, data rawjson.Span) bool {
	if rawjson.Member(f.Raw, data, "uri").Present() {
		return true
	}
	text, _ := rawjson.Unquote(rawjson.Member(f.Raw, f.Error, "message").Of(f.Raw))
	return bytes.Contains(bytes.ToLower([]byte(text)), []byte("not found"))
}

// putURI sets error.data.uri to the client's URI.
func putURI(edits []rawjson.Edit, f *Frame, data rawjson.Span, uri []byte) []rawjson.Edit {
	if uri == nil {
		return edits
	}
	return putData(edits, f, data, rawjson.Patch{Name: "uri", Key: []byte(`"uri":`), Have: rawjson.Member(f.Raw, data, "uri"), Want: uri})
}

func putOriginalCode(edits []rawjson.Edit, f *Frame, data rawjson.Span, code []byte) []rawjson.Edit {
	const name = "originalCode"
	return putData(edits, f, data, rawjson.Patch{Name: name, Key: []byte(`"originalCode":`), Have: rawjson.Member(f.Raw, data, name), Want: code})
}

// putData patches error.data, which may be absent. Data that is not an object becomes the member data of a new object.
func putData(edits []rawjson.Edit, f *Frame, data rawjson.Span, w rawjson.Patch) []rawjson.Edit {
	text := data.Of(f.Raw)
	switch {
	case len(text) > 0 && text[0] == '{':
		edits, _ = rawjson.PatchObject(edits, f.Raw, data, [2]rawjson.Span{}, false, []rawjson.Patch{w})
		return edits
	case len(text) > 0 && text[0] != 'n':
		before := append(append(append([]byte{'{'}, w.Key...), w.Want...), `,"data":`...)
		return append(edits, rawjson.Insert(data.Off, before), rawjson.Insert(data.End, closeObject))
	}
	w.Name, w.Key, w.Tail = "data", append([]byte(`"data":{`), w.Key...), closeObject
	edits, _ = rawjson.PatchObject(edits, f.Raw, f.Error, [2]rawjson.Span{}, false, []rawjson.Patch{w})
	return edits
}

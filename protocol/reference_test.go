package protocol

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// The slow reference implementation for tests of the scanner, based on encoding/json.

// referenceValid returns the expected result of Valid.
func referenceValid(raw []byte) bool {
	return json.Valid(raw) && utf8.Valid(raw) && referenceDepth(raw) <= MaxDepth
}

// referenceDepth returns the nesting depth of valid JSON.
func referenceDepth(raw []byte) int {
	depth, deepest := 0, 0
	quoted := false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}', c == ']':
			depth--
		}
	}
	return deepest
}

// pair is a member as read by encoding/json's token reader.
type pair struct {
	key   string
	value []byte // raw
	plain bool   // the key is spelled without escapes
}

// referenceMembers returns the members of a valid JSON object in order, including duplicates.
func referenceMembers(raw []byte) []pair {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var out []pair
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil
		}
		plain := bytes.HasSuffix(raw[:d.InputOffset()], []byte(`"`+key.(string)+`"`))
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil
		}
		out = append(out, pair{key.(string), bytes.TrimSpace(value), plain})
	}
	return out
}

// referenceNewline reports whether valid JSON contains a newline, which can only be between tokens.
func referenceNewline(raw []byte) bool { return bytes.ContainsAny(raw, "\r\n") }

// referenceNotes reports whether a string in the result is resource or resource_link, and whether a member isError is
// true. If raw contains \u, failure is always false.
func referenceNotes(raw []byte) (resource, failure bool) {
	var message struct{ Result any }
	if json.Unmarshal(raw, &message) != nil {
		return false, false
	}
	var look func(value any)
	look = func(value any) {
		switch v := value.(type) {
		case string:
			resource = resource || v == "resource" || v == "resource_link"
		case []any:
			for _, element := range v {
				look(element)
			}
		case map[string]any:
			// Parse records only an unescaped key. If raw contains \u anywhere, the reference does not require a record.
			failure = failure || v["isError"] == true && bytes.Contains(raw, []byte(`"isError"`)) && !bytes.Contains(raw, []byte(`\u`))
			for _, element := range v {
				look(element)
			}
		}
	}
	look(message.Result)
	return resource, failure
}

var envelopeKeys = []string{"jsonrpc", "id", "method", "params", "result", "error"}

// referenceFrame returns the envelope's raw members, and false if the message must be refused.
func referenceFrame(raw []byte) (map[string][]byte, bool) {
	if !referenceValid(raw) || !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		return nil, false
	}
	found := map[string][]byte{}
	for _, m := range referenceMembers(raw) {
		for _, key := range envelopeKeys {
			if !strings.EqualFold(m.key, key) {
				continue
			}
			if _, twice := found[key]; twice || m.key != key || !m.plain {
				return nil, false
			}
			found[key] = m.value
		}
	}
	return found, referenceShape(found)
}

func referenceShape(m map[string][]byte) bool {
	if string(m["jsonrpc"]) != `"2.0"` {
		return false
	}
	id, hasID := m["id"]
	null := string(id) == "null"
	if hasID && !null && !referenceID(id) {
		return false
	}
	result, hasResult := m["result"]
	failure, hasError := m["error"]
	if method, ok := m["method"]; ok {
		params, hasParams := m["params"]
		return method[0] == '"' && !hasResult && !hasError && !null && (!hasParams || params[0] == '{' || params[0] == '[')
	}
	if hasResult && hasError {
		if string(failure) == "null" {
			delete(m, "error")
			hasError = false
		} else if string(result) == "null" {
			delete(m, "result")
			hasResult = false
		} else {
			return false
		}
	}
	switch {
	case hasError:
		return failure[0] == '{'
	case hasResult:
		return hasID && !null
	}
	return false
}

func referenceID(id []byte) bool {
	if id[0] == '"' {
		return true
	}
	if !strings.ContainsRune("-0123456789", rune(id[0])) {
		return false
	}
	mantissa, exponent, _ := strings.Cut(strings.ToLower(string(id)), "e")
	_, fraction, _ := strings.Cut(mantissa, ".")
	return strings.Trim(fraction, "0") == "" && !strings.HasPrefix(exponent, "-")
}

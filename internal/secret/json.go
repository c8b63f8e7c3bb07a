package secret

import (
	"bytes"
	"encoding/json"
	"strings"
)

// inJSON hides secrets in s if it is a JSON object or array, and keeps the order of keys. It hides the strings and
// numbers under keys that suggest a secret, and under headers and env. Other strings are processed by Argument. If all
// is true, it hides all strings and numbers. ok is false if s is not a JSON object or array.
func inJSON(s string, all bool) (shown string, ok bool) {
	if trimmed := strings.TrimLeft(s, " \t\r\n"); trimmed == "" || trimmed[0] != '{' && trimmed[0] != '[' || !json.Valid([]byte(s)) {
		return "", false
	}
	h := jsonHider{in: json.NewDecoder(strings.NewReader(s))}
	h.in.UseNumber()
	if h.value(all) != nil {
		return Hidden, true
	}
	return h.out.String(), true
}

type jsonHider struct {
	in  *json.Decoder
	out bytes.Buffer
}

// value copies one JSON value. If hidden is true, it hides all strings and numbers in the value.
func (h *jsonHider) value(hidden bool) error {
	t, err := h.in.Token()
	if err != nil {
		return err
	}
	switch t := t.(type) {
	case json.Delim:
		return h.inside(t, hidden)
	case string:
		if hidden {
			return h.write(Value(t))
		}
		return h.write(Argument(t))
	case json.Number:
		if hidden {
			return h.write(Hidden)
		}
		h.out.WriteString(t.String())
		return nil
	}
	return h.write(t)
}

// inside copies the elements of an object or array.
func (h *jsonHider) inside(opened json.Delim, hidden bool) error {
	h.out.WriteByte(byte(opened))
	for first := true; h.in.More(); first = false {
		if !first {
			h.out.WriteByte(',')
		}
		under := hidden
		if opened == '{' {
			name, err := h.in.Token()
			if err != nil {
				return err
			}
			key, _ := name.(string)
			if err := h.write(key); err != nil {
				return err
			}
			h.out.WriteByte(':')
			under = hidden || secretName().MatchString(key) || strings.EqualFold(key, "headers") || strings.EqualFold(key, "env")
		}
		if err := h.value(under); err != nil {
			return err
		}
	}
	closed, err := h.in.Token()
	if err != nil {
		return err
	}
	h.out.WriteByte(byte(closed.(json.Delim)))
	return nil
}

// write appends a JSON scalar without escaping < and >.
func (h *jsonHider) write(v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	h.out.Write(bytes.TrimRight(b.Bytes(), "\n"))
	return nil
}

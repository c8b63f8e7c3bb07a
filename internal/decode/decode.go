package decode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
)

// Error describes why an input could not be decoded. It does not wrap the error of encoding/json.
type Error struct{ text string }

func (e *Error) Error() string { return e.text }

// JSON decodes raw into v. what is the name of raw in errors, such as "the result".
func JSON(raw []byte, what string, v any) error {
	return decode(raw, what, v, false)
}

// Strict is like JSON, but rejects members that v does not have.
func Strict(raw []byte, what string, v any) error {
	return decode(raw, what, v, true)
}

// Own is like JSON, for input that the user has written: a syntax error includes its position.
func Own(raw []byte, what string, v any) error {
	if err := json.Unmarshal(raw, new(json.RawMessage)); err != nil {
		return &Error{what + " is not valid JSON" + position(raw, err)}
	}
	return decode(raw, what, v, false)
}

// Reader is like JSON for the whole content of r. Errors of r are wrapped, except that an *http.MaxBytesError becomes
// an *Error. The caller must limit the size of r.
func Reader(r io.Reader, what string, v any) error {
	raw, err := io.ReadAll(r)
	if limit, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &Error{fmt.Sprintf("%s is longer than %d bytes", what, limit.Limit)}
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", what, err)
	}
	return decode(raw, what, v, false)
}

func decode(raw []byte, what string, v any, strict bool) error {
	t := reflect.TypeOf(v).Elem()
	trimmed := bytes.TrimSpace(raw)
	switch {
	case len(trimmed) == 0:
		return &Error{what + " is empty; " + expected(t, true) + " was expected"}
	case string(trimmed) == "null" && (t.Kind() == reflect.Struct || t.Kind() == reflect.Map || t.Kind() == reflect.Slice):
		return &Error{what + " is null; " + expected(t, true) + " was expected"}
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if strict {
		d.DisallowUnknownFields()
	} else if err := json.Unmarshal(raw, v); err != nil {
		return explain(raw, what, t, err)
	} else {
		return nil
	}
	if err := d.Decode(v); err != nil {
		return explain(raw, what, t, err)
	}
	return nil
}

// explain converts an error of encoding/json to an Error.
func explain(raw []byte, what string, t reflect.Type, err error) error {
	if !json.Valid(raw) {
		return &Error{what + " is not valid JSON"}
	}
	if _, name, ok := strings.Cut(err.Error(), "json: unknown field "); ok {
		return &Error{fmt.Sprintf("%s has an unknown member %s", what, name)}
	}
	m, found := mismatchOf(raw, t, "")
	if !found {
		return &Error{what + " does not have the expected form"}
	}
	if m.path != "" {
		what = m.path + " in " + what
	}
	if m.want == "" {
		return &Error{what + " does not have the expected form"}
	}
	return &Error{what + " is " + m.got + "; " + m.want + " was expected"}
}

// position describes the position of a syntax error.
func position(raw []byte, err error) string {
	syntax, ok := errors.AsType[*json.SyntaxError](err)
	if !ok || syntax.Offset < 1 || syntax.Offset > int64(len(raw)) || strings.Contains(err.Error(), "unexpected end") {
		return ": it ends too early"
	}
	return fmt.Sprintf(": unexpected %q at byte %d", []rune(string(raw[syntax.Offset-1:]))[0], syntax.Offset)
}

package decode

import (
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"goblin-actor/internal/visible"
)

// mismatch is the first value whose type differs from the one that was expected.
type mismatch struct {
	path string // such as content[0].text; "" = the whole input
	got  string // such as "a number"
	want string // such as "a string"; "" = a type without a short name
}

// maxKey is the maximum number of characters of an unknown member's name in an error.
const maxKey = 60

var (
	decodes     = reflect.TypeFor[json.Unmarshaler]()
	decodesText = reflect.TypeFor[encoding.TextUnmarshaler]()
	number      = reflect.TypeFor[json.Number]()
)

// mismatchOf finds the first value in raw, which is valid JSON, that does not fit type t. It is called only after
// decoding has failed. It descends only as far as t does, so the depth of raw does not matter.
func mismatchOf(raw json.RawMessage, t reflect.Type, path string) (mismatch, bool) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	got := kindOf(raw)
	wrong := mismatch{path, got, expected(t, path == "")}
	if got == "null" || json.Unmarshal(raw, reflect.New(t).Interface()) == nil {
		return mismatch{}, false
	}
	switch pointer := reflect.PointerTo(t); {
	case t == number:
		return wrong, true
	case pointer.Implements(decodesText):
		wrong.want = ""
		if got != "a string" {
			wrong.want = "a string"
		}
		return wrong, true
	case t.Kind() == reflect.Struct && got == "an object":
		return inStruct(raw, t, path)
	case t.Kind() == reflect.Map && got == "an object":
		return inMap(raw, t, path)
	case t.Kind() == reflect.Slice && got == "an array":
		return inSlice(raw, t, path)
	case got == wrong.want: // the right type, but out of range or not in the form that t decodes
		wrong.want = ""
	case pointer.Implements(decodes) && wrong.want == "a value":
		wrong.want = ""
	}
	return wrong, true
}

func inStruct(raw json.RawMessage, t reflect.Type, path string) (mismatch, bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return mismatch{}, false
	}
	for i := range t.NumField() {
		field := t.Field(i)
		name := nameOf(field)
		value, ok := members[name]
		for key, other := range members { // as encoding/json does, without regard to case
			if !ok && strings.EqualFold(key, name) {
				value, ok = other, true
			}
		}
		if !ok || name == "" {
			continue
		}
		if m, found := mismatchOf(value, field.Type, join(path, name)); found {
			return m, true
		}
	}
	return mismatch{path: path}, true
}

func inMap(raw json.RawMessage, t reflect.Type, path string) (mismatch, bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return mismatch{}, false
	}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		if m, found := mismatchOf(members[key], t.Elem(), join(path, visible.Cut(visible.Text(key), maxKey))); found {
			return m, true
		}
	}
	return mismatch{path: path}, true
}

func inSlice(raw json.RawMessage, t reflect.Type, path string) (mismatch, bool) {
	var elements []json.RawMessage
	if json.Unmarshal(raw, &elements) != nil {
		return mismatch{}, false
	}
	for i, element := range elements {
		if m, found := mismatchOf(element, t.Elem(), path+"["+strconv.Itoa(i)+"]"); found {
			return m, true
		}
	}
	return mismatch{path: path}, true
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// nameOf returns the JSON name of a field, or "" if it has none.
func nameOf(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	switch {
	case !field.IsExported() || name == "-":
		return ""
	case name == "":
		return field.Name
	}
	return name
}

// kindOf names the type of a JSON value.
func kindOf(raw json.RawMessage) string {
	switch strings.TrimLeft(string(raw[:min(len(raw), 64)]), " \t\r\n")[0] {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// expected returns the name of the JSON type for t. If t is an object and whole is true, the name includes its first member.
func expected(t reflect.Type, whole bool) string {
	if t == number {
		return "a number"
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Map:
		return "an object"
	case reflect.Struct:
		if whole && t.NumField() > 0 && t.Field(0).Tag.Get("json") != "" {
			return "an object with " + nameOf(t.Field(0))
		}
		return "an object"
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return "base64 text"
		}
		return "an array"
	case reflect.Interface:
		return "a value"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "a whole number"
}

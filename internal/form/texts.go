package form

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// Texts returns a text for each input that gives the argument's value in arguments, a raw JSON object. The text is empty if
// the argument is missing. It is also empty if no text gives its value; unknown names these arguments, and those without an
// input.
func (in *Inputs) Texts(arguments []byte) (texts, unknown []string) {
	texts = make([]string, len(in.All))
	var values map[string]json.RawMessage
	if json.Unmarshal(arguments, &values) != nil {
		return texts, nil
	}
	for i := range in.All {
		name := in.All[i].Name
		value, ok := values[name]
		if !ok {
			continue
		}
		if texts[i] = in.text(&in.All[i], value); texts[i] != "" {
			delete(values, name)
		}
	}
	return texts, slices.Sorted(maps.Keys(values))
}

// text returns the text that gives value for an input: the string itself or, for all other values, their JSON.
func (in *Inputs) text(one *Input, value []byte) string {
	var compact bytes.Buffer
	if json.Compact(&compact, value) != nil {
		return ""
	}
	candidates := []string{compact.String()}
	var word string
	if json.Unmarshal(value, &word) == nil {
		candidates = []string{word, compact.String()}
	}
	for _, text := range candidates {
		if got, err := in.Schema.value(one.property, text); err == nil && sameJSON(got, value) {
			return text
		}
	}
	return ""
}

// sameJSON reports whether two JSON texts have the same value in the same spelling of numbers.
func sameJSON(a, b []byte) bool {
	decode := func(raw []byte) (v any, ok bool) {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		return v, d.Decode(&v) == nil
	}
	x, okX := decode(a)
	y, okY := decode(b)
	if !okX || !okY {
		return false
	}
	one, errX := json.Marshal(x)
	other, errY := json.Marshal(y)
	return errX == nil && errY == nil && bytes.Equal(one, other)
}

package config

import (
	"reflect"
	"slices"
	"strings"
	"sync"
)

// field describes a key by the tags of its struct field (see keys.go).
type field struct {
	index      []int // index for reflect.Value.FieldByIndex; longer than 1 for fields of embedded structs
	key        string
	in         string // the section around the key; "" if there is none
	also       string // a second key that takes one value instead of a list; "" if there is none
	byDefault  string // the default as written in the file; "" for the zero value
	min, max   string
	oneof      []string
	single     bool
	bytes      bool
	secret     bool
	connection bool // a change reconnects the server
}

var fieldCache sync.Map // reflect.Type to []field

// fieldsOf returns the keys of struct type t in the order of its fields.
func fieldsOf(t reflect.Type) []field {
	if known, ok := fieldCache.Load(t); ok {
		return known.([]field)
	}
	var fields []field
	for i := range t.NumField() {
		if t.Field(i).Anonymous { // its keys are on the same level
			for _, f := range fieldsOf(t.Field(i).Type) {
				f.index = append([]int{i}, f.index...)
				fields = append(fields, f)
			}
			continue
		}
		tag := t.Field(i).Tag
		key, ok := tag.Lookup("key")
		if !ok {
			continue
		}
		f := field{
			index: []int{i}, key: key, in: tag.Get("in"), also: tag.Get("also"), byDefault: tag.Get("default"), min: tag.Get("min"), max: tag.Get("max"),
			single: tag.Get("single") == "ok", bytes: tag.Get("form") == "bytes", secret: tag.Get("secret") == "yes",
			connection: tag.Get("change") == "connection",
		}
		if words := tag.Get("oneof"); words != "" {
			f.oneof = strings.Split(words, "|")
		}
		fields = append(fields, f)
	}
	fieldCache.Store(t, fields)
	return fields
}

// fieldFor finds the field for key in section of t. one reports that key is the second key, which takes one value.
func fieldFor(t reflect.Type, section, key string) (f field, one, ok bool) {
	for _, f := range fieldsOf(t) {
		if f.in == section && (f.key == key || f.also == key && key != "") {
			return f, f.also == key, true
		}
	}
	return field{}, false, false
}

// isSection reports whether t has fields in a section named key.
func isSection(t reflect.Type, key string) bool {
	return slices.ContainsFunc(fieldsOf(t), func(f field) bool { return f.in == key })
}

// keysOf returns the keys allowed in section of t, for hints.
func keysOf(t reflect.Type, section string) []string {
	var keys []string
	for _, f := range fieldsOf(t) {
		switch {
		case f.in == section:
			if f.also != "" {
				keys = append(keys, f.also)
			}
			keys = append(keys, f.key)
		case section == "" && !slices.Contains(keys, f.in):
			keys = append(keys, f.in)
		}
	}
	return keys
}

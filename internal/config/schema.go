package config

import (
	"reflect"
	"slices"
	"strings"
	"sync"
)

// field is one key a struct takes, as its tags say (types.go).
type field struct {
	index      []int // in the struct, through embedded ones
	key        string
	in         string // section around it; "" = none
	also       string // second key, with one value instead of a list
	min, max   string
	oneof      []string
	single     bool
	bytes      bool
	secret     bool
	connection bool // a change makes the connections anew
}

var fieldCache sync.Map // reflect.Type to []field

// fieldsOf returns the keys of a struct in the order of its fields.
func fieldsOf(t reflect.Type) []field {
	if known, ok := fieldCache.Load(t); ok {
		return known.([]field)
	}
	var fields []field
	for i := range t.NumField() {
		if t.Field(i).Anonymous { // its keys stand beside the others
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
			index: []int{i}, key: key, in: tag.Get("in"), also: tag.Get("also"), min: tag.Get("min"), max: tag.Get("max"),
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

// fieldFor finds the field of key inside of section; one tells that it is the second key, with one value.
func fieldFor(t reflect.Type, section, key string) (f field, one, ok bool) {
	for _, f := range fieldsOf(t) {
		if f.in == section && (f.key == key || f.also == key && key != "") {
			return f, f.also == key, true
		}
	}
	return field{}, false, false
}

// isSection tells whether fields of t stand in a section of that name.
func isSection(t reflect.Type, key string) bool {
	return slices.ContainsFunc(fieldsOf(t), func(f field) bool { return f.in == key })
}

// keysOf lists what may stand in section of t, for hints.
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

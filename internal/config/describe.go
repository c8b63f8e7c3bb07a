package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Describe lists the differences between two configs for users, in the order of the new file: `files: args, timeout
// 30s → 1m0s` for a server, then `limits.maxSessions 100 → 200` for a setting. It omits servers that only one config
// has. It shows values only if they cannot be secret: booleans, numbers, durations and words from a fixed set.
func Describe(old, next *Config) []string {
	before := map[string]Server{}
	for _, s := range old.Servers {
		if s.MemberOf == "" { // otherwise it stands for a member, which has the same name
			before[s.Name] = s
		}
	}
	var out []string
	for _, s := range next.Servers {
		was, known := before[s.Name]
		if !known || s.MemberOf != "" {
			continue
		}
		keys := described(reflect.ValueOf(was), reflect.ValueOf(s), "")
		if was.Fault != s.Fault {
			keys = append(keys, faultChange(was.Fault, s.Fault))
		}
		if len(keys) == 0 && was.Order != s.Order {
			keys = []string{"position in the file"}
		}
		if len(keys) > 0 {
			out = append(out, s.Name+": "+strings.Join(keys, ", "))
		}
	}
	return append(out, described(reflect.ValueOf(*old), reflect.ValueOf(*next), "")...)
}

func faultChange(was, is string) string {
	switch {
	case was == "":
		return "now misconfigured"
	case is == "":
		return "no longer misconfigured"
	}
	return "misconfigured for another reason"
}

// described lists the keys, other than servers, in which two structs of the same type differ.
func described(a, b reflect.Value, path string) []string {
	var out []string
	for _, f := range fieldsOf(a.Type()) {
		va, vb := a.FieldByIndex(f.index), b.FieldByIndex(f.index)
		if _, servers := va.Interface().([]Server); servers || same(va, vb) {
			continue
		}
		key := f.key
		for _, around := range []string{f.in, path} {
			if around != "" {
				key = around + "." + key
			}
		}
		if va.Kind() == reflect.Struct {
			out = append(out, described(va, vb, key)...)
			continue
		}
		was, plain := plainValue(va, f)
		is, _ := plainValue(vb, f)
		if !plain {
			out = append(out, key)
			continue
		}
		out = append(out, fmt.Sprintf("%s %s → %s", key, was, is))
	}
	return out
}

// plainValue formats a value that cannot be secret. It returns false for other values.
func plainValue(v reflect.Value, f field) (string, bool) {
	switch value := v.Interface().(type) {
	case bool:
		return strconv.FormatBool(value), true
	case int:
		return strconv.Itoa(value), true
	case int64:
		if f.bytes {
			return formatBytes(value), true
		}
		return strconv.FormatInt(value, 10), true
	case time.Duration:
		return value.String(), true
	case string:
		return value, slices.Contains(f.oneof, value)
	}
	return "", false
}

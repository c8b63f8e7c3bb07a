package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
)

// difference is a JSON member that the gateway changed.
type difference struct{ path, direct, through string }

func (d difference) String() string {
	return fmt.Sprintf("%s is %s directly and %s through the gateway", d.path, d.direct, d.through)
}

// differences compares two JSON texts by member. Numbers are compared as text.
func differences(t *testing.T, direct, through json.RawMessage) (all []difference) {
	t.Helper()
	var a, b any
	for text, to := range map[*any]json.RawMessage{&a: direct, &b: through} {
		d := json.NewDecoder(bytes.NewReader(to))
		d.UseNumber()
		if err := d.Decode(text); err != nil {
			t.Fatal(err)
		}
	}
	var walk func(path string, a, b any)
	walk = func(path string, a, b any) {
		switch x := a.(type) {
		case map[string]any:
			if y, ok := b.(map[string]any); ok {
				for _, key := range slices.Sorted(maps.Keys(x)) {
					walk(path+"."+key, x[key], member(y, key))
				}
				for _, key := range slices.Sorted(maps.Keys(y)) {
					if _, ok := x[key]; !ok {
						walk(path+"."+key, missing{}, y[key])
					}
				}
				return
			}
			if isMissing(b) && len(x) > 0 {
				walk(path, a, map[string]any{})
				return
			}
		case []any:
			if y, ok := b.([]any); ok && len(x) == len(y) {
				for i := range x {
					walk(fmt.Sprintf("%s[%d]", path, i), x[i], y[i])
				}
				return
			}
		case missing:
			if y, ok := b.(map[string]any); ok && len(y) > 0 {
				walk(path, map[string]any{}, b)
				return
			}
		default:
			if _, ok := b.(map[string]any); !ok {
				if _, ok := b.([]any); !ok && a == b {
					return
				}
			}
		}
		all = append(all, difference{path, brief(a), brief(b)})
	}
	walk("", a, b)
	return all
}

// missing stands for an absent member.
type missing struct{}

func isMissing(value any) bool { _, ok := value.(missing); return ok }

func member(of map[string]any, key string) any {
	if value, ok := of[key]; ok {
		return value
	}
	return missing{}
}

func brief(value any) string {
	if isMissing(value) {
		return "missing"
	}
	text, _ := json.Marshal(value)
	if len(text) > 300 {
		return string(text[:300]) + "…"
	}
	return string(text)
}

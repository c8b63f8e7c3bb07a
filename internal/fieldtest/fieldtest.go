// Package fieldtest helps to test comparisons: a comparison of two structs must notice a change of any field, unless the
// field is left out on purpose.
package fieldtest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// Noticed fails the test if notices returns false for a copy of base with one field changed. Fields are changed one at
// a time, also inside nested structs, pointers, slices, arrays and maps. ignored lists the fields that the comparison
// leaves out on purpose, with the reason, by path such as "Tenant.Headers"; a path covers the fields below it. An
// ignored field that does not exist or is noticed fails the test as well, so the list stays up to date. Unexported
// fields are not changed.
func Noticed[T any](t testing.TB, base T, ignored map[string]string, notices func(path string, changed T) bool) {
	t.Helper()
	missed, unused := 0, maps.Clone(ignored)
	changes := 0
	each(reflect.ValueOf(&base).Elem(), "", func(path string, changed reflect.Value) {
		changes++
		noticed := notices(path, changed.Interface().(T))
		if by, ok := covers(ignored, path); ok {
			if !noticed {
				delete(unused, by)
			}
			return
		}
		if !noticed {
			missed++
			t.Errorf("a change of %s is not noticed; compare the field, or list it as ignored with a reason", path)
		}
	})
	for _, path := range slices.Sorted(maps.Keys(unused)) {
		t.Errorf("%s is listed as ignored (%s), but does not exist or its change is noticed", path, ignored[path])
	}
	if changes == 0 {
		t.Errorf("%T has no field to change", base)
	}
}

func covers(ignored map[string]string, path string) (string, bool) {
	for by := range ignored {
		if rest, ok := strings.CutPrefix(path, by); ok && (rest == "" || strings.ContainsAny(rest[:1], ".[")) {
			return by, true
		}
	}
	return "", false
}

// each calls visit with copies of v that have one change each.
func each(v reflect.Value, path string, visit func(path string, changed reflect.Value)) {
	with := func(set func(reflect.Value)) {
		c := reflect.New(v.Type()).Elem()
		c.Set(v)
		set(c)
		visit(path, c)
	}
	switch v.Kind() {
	case reflect.Bool:
		with(func(c reflect.Value) { c.SetBool(!v.Bool()) })
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		with(func(c reflect.Value) { c.SetInt(v.Int() ^ 1) })
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		with(func(c reflect.Value) { c.SetUint(v.Uint() ^ 1) })
	case reflect.Float32, reflect.Float64:
		with(func(c reflect.Value) { c.SetFloat(v.Float() + 1) })
	case reflect.String:
		with(func(c reflect.Value) { c.SetString(v.String() + "x") })
	case reflect.Pointer:
		eachPointer(v, path, visit)
	case reflect.Struct:
		eachField(v, path, visit)
	case reflect.Slice, reflect.Array:
		eachElement(v, path, visit)
	case reflect.Map:
		eachEntry(v, path, visit)
	case reflect.Func, reflect.Interface, reflect.Chan: // their values cannot be varied here
	default:
		panic(fmt.Sprintf("fieldtest: %s has the unsupported type %s", path, v.Type()))
	}
}

func eachPointer(v reflect.Value, path string, visit func(string, reflect.Value)) {
	if v.IsNil() {
		visit(path, reflect.New(v.Type().Elem()))
		return
	}
	each(v.Elem(), path, func(path string, changed reflect.Value) {
		p := reflect.New(v.Type().Elem())
		p.Elem().Set(changed)
		visit(path, p)
	})
}

func eachField(v reflect.Value, path string, visit func(string, reflect.Value)) {
	if at, ok := v.Interface().(time.Time); ok {
		visit(path, reflect.ValueOf(at.Add(time.Hour)))
		return
	}
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		name := strings.TrimPrefix(path+"."+field.Name, ".")
		each(v.Field(i), name, func(path string, changed reflect.Value) {
			c := reflect.New(v.Type()).Elem()
			c.Set(v)
			c.Field(i).Set(changed)
			visit(path, c)
		})
	}
}

// eachElement changes each element, and appends one to a slice.
func eachElement(v reflect.Value, path string, visit func(string, reflect.Value)) {
	for i := range v.Len() {
		each(v.Index(i), fmt.Sprintf("%s[%d]", path, i), func(path string, changed reflect.Value) {
			c := reflect.New(v.Type()).Elem()
			if v.Kind() == reflect.Slice {
				c.Set(reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), v))
			} else {
				c.Set(v)
			}
			c.Index(i).Set(changed)
			visit(path, c)
		})
	}
	if v.Kind() == reflect.Slice {
		longer := reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()+1), v)
		visit(path, reflect.Append(longer, reflect.Zero(v.Type().Elem())))
	}
}

// eachEntry changes each value, and adds an entry.
func eachEntry(v reflect.Value, path string, visit func(string, reflect.Value)) {
	clone := func() reflect.Value {
		c := reflect.MakeMap(v.Type())
		for _, key := range v.MapKeys() {
			c.SetMapIndex(key, v.MapIndex(key))
		}
		return c
	}
	for _, key := range v.MapKeys() {
		each(v.MapIndex(key), fmt.Sprintf("%s[%v]", path, key), func(path string, changed reflect.Value) {
			c := clone()
			c.SetMapIndex(key, changed)
			visit(path, c)
		})
	}
	if added := reflect.Zero(v.Type().Key()); !v.MapIndex(added).IsValid() {
		c := clone()
		c.SetMapIndex(added, reflect.Zero(v.Type().Elem()))
		visit(path, c)
	}
}

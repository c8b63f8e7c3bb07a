package status

import "reflect"

// without returns value with known applied to every string in it, except map keys, byte slices and unexported fields.
// It copies what changes and never modifies value.
func without[T any](value T, known func(string) string) T {
	if known == nil {
		return value
	}
	v := reflect.ValueOf(&value).Elem()
	if changed, differs := withoutIn(v, known); differs {
		return changed.Interface().(T)
	}
	return value
}

// withoutIn returns v and false, or a changed copy and true.
func withoutIn(v reflect.Value, known func(string) string) (changed reflect.Value, differs bool) {
	switch v.Kind() {
	case reflect.String:
		text := known(v.String())
		if text == v.String() {
			return v, false
		}
		changed = reflect.New(v.Type()).Elem()
		changed.SetString(text)
		return changed, true
	case reflect.Pointer:
		if v.IsNil() {
			return v, false
		}
		inner, differs := withoutIn(v.Elem(), known)
		if !differs {
			return v, false
		}
		changed = reflect.New(v.Type().Elem())
		changed.Elem().Set(inner)
		return changed, true
	case reflect.Struct:
		return members(v, v.NumField(), known, func(v reflect.Value, i int) reflect.Value { return v.Field(i) })
	case reflect.Slice:
		if kind := v.Type().Elem().Kind(); kind == reflect.Uint8 || v.Len() == 0 {
			return v, false
		}
		return members(v, v.Len(), known, reflect.Value.Index)
	case reflect.Map:
		return inMap(v, known)
	}
	return v, false
}

// members applies withoutIn to the fields of a struct or the elements of a slice. It skips unexported fields, which
// contain no text for users.
func members(v reflect.Value, n int, known func(string) string, at func(reflect.Value, int) reflect.Value) (changed reflect.Value, differs bool) {
	for i := range n {
		if v.Kind() == reflect.Struct && !v.Type().Field(i).IsExported() {
			continue
		}
		one, differ := withoutIn(at(v, i), known)
		if !differ {
			continue
		}
		if !differs {
			changed, differs = copyOf(v), true
		}
		at(changed, i).Set(one)
	}
	return changed, differs
}

func copyOf(v reflect.Value) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	if v.Kind() == reflect.Slice {
		c.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		reflect.Copy(c, v)
		return c
	}
	c.Set(v)
	return c
}

func inMap(v reflect.Value, known func(string) string) (changed reflect.Value, differs bool) {
	for _, key := range v.MapKeys() {
		one, differ := withoutIn(v.MapIndex(key), known)
		if !differ {
			continue
		}
		if !differs {
			changed, differs = reflect.MakeMapWithSize(v.Type(), v.Len()), true
			for _, k := range v.MapKeys() {
				changed.SetMapIndex(k, v.MapIndex(k))
			}
		}
		changed.SetMapIndex(key, one)
	}
	return changed, differs
}

package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"
)

// DefaultListen is the default of `listen`.
const DefaultListen = "127.0.0.1:8730"

// defaultMaxBackendsIsolated replaces the default of maxBackends if clients have separate connections.
const defaultMaxBackendsIsolated = 64

// Default returns a complete Config without servers.
func Default() Config {
	c := defaultConfig()
	c.Listen = slices.Clone(c.Listen)
	return c
}

// DefaultServer returns a Server with every default that does not depend on its kind. To complete it, set Name and either Command or
// URLs. With URLs, also set Isolation to `class`.
func DefaultServer() Server { return defaultServer() }

var (
	defaultConfig = sync.OnceValue(withDefaults[Config])
	defaultServer = sync.OnceValue(withDefaults[Server])
)

// withDefaults returns a T with the defaults of its tags.
func withDefaults[T any]() T {
	var value T
	setDefaults(reflect.ValueOf(&value).Elem())
	return value
}

// setDefaults sets the fields of a struct, and of the structs in it, to the defaults of their tags.
func setDefaults(v reflect.Value) {
	for _, f := range fieldsOf(v.Type()) {
		field := v.FieldByIndex(f.index)
		switch {
		case field.Kind() == reflect.Struct:
			setDefaults(field)
		case f.byDefault != "":
			if err := setDefault(field, f); err != nil {
				panic(fmt.Sprintf("default of %s: %v", f.key, err))
			}
		}
	}
}

func setDefault(field reflect.Value, f field) (err error) {
	switch to := field.Addr().Interface().(type) {
	case *string:
		*to = f.byDefault
	case *[]string:
		*to = []string{f.byDefault}
	case *int:
		*to, err = strconv.Atoi(f.byDefault)
	case *int64:
		*to, err = parseBytes(f.byDefault)
	case *bool:
		*to, err = strconv.ParseBool(f.byDefault)
	case *time.Duration:
		*to, err = time.ParseDuration(f.byDefault)
	default:
		return fmt.Errorf("a %v has no default", field.Type())
	}
	return err
}

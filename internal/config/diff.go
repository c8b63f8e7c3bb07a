package config

import (
	"reflect"
	"slices"
)

// Changes is what differs between two configs. Servers are matched by name; each stands in one list at most.
type Changes struct {
	Added       []Server // as the new config has them
	Removed     []Server // as the old one had them
	CatalogOnly []Server // new values; the connections stay. Also those that only moved in the file (Order)
	Transport   []Server // new values; the connections have to be made anew
	Listen      bool     // refused until restart
	Settings    []string // other top-level keys that changed, e.g. `limits`, in the order of Config
}

// Empty tells that nothing differs.
func (c Changes) Empty() bool {
	return len(c.Added)+len(c.Removed)+len(c.CatalogOnly)+len(c.Transport)+len(c.Settings) == 0 && !c.Listen
}

// Diff compares the config in force with a new one. The tag change of each field of Server says which list it is for;
// a change of Fault is one of Transport, as the server can run now or cannot any more.
func Diff(old, next *Config) Changes {
	var c Changes
	before := map[string]Server{}
	for _, s := range old.Servers {
		before[s.Name] = s
	}
	for _, s := range next.Servers {
		was, known := before[s.Name]
		delete(before, s.Name)
		switch {
		case !known:
			c.Added = append(c.Added, s)
		case was.Fault != s.Fault || differ(was, s, true) || membersDiffer(was.Members, s.Members, true):
			c.Transport = append(c.Transport, s)
		case was.Order != s.Order || differ(was, s, false) || membersDiffer(was.Members, s.Members, false):
			c.CatalogOnly = append(c.CatalogOnly, s)
		}
	}
	for _, s := range old.Servers {
		if _, gone := before[s.Name]; gone {
			c.Removed = append(c.Removed, s)
		}
	}
	c.Listen = !slices.Equal(old.Listen, next.Listen)
	c.Settings = settings(old, next)
	return c
}

// differ tells whether a and b differ in a field that a connection depends on, or in any other.
func differ(a, b Server, connection bool) bool {
	va, vb := reflect.ValueOf(a), reflect.ValueOf(b)
	return slices.ContainsFunc(fieldsOf(va.Type()), func(f field) bool {
		return f.connection == connection && !same(va.FieldByIndex(f.index), vb.FieldByIndex(f.index))
	})
}

// settings names the top-level keys that differ, those apart that have a place of their own in Changes.
func settings(old, next *Config) []string {
	var keys []string
	a, b := reflect.ValueOf(*old), reflect.ValueOf(*next)
	for _, f := range fieldsOf(a.Type()) {
		if f.key == "listen" || f.key == "mcpServers" || same(a.FieldByIndex(f.index), b.FieldByIndex(f.index)) {
			continue
		}
		if f.in != "" {
			keys = append(keys, f.in)
		} else {
			keys = append(keys, f.key)
		}
	}
	return slices.Compact(keys)
}

// same compares two values; a list or mapping that is missing equals an empty one.
func same(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Map:
		if a.Len() == 0 && b.Len() == 0 {
			return true
		}
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !same(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Struct:
		for i := range a.NumField() {
			if !same(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}

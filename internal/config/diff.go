package config

import (
	"reflect"
	"slices"
)

// Changes lists the differences between two configs. Servers are matched by name. Each server is in at most one list.
type Changes struct {
	Added       []Server // new servers
	Removed     []Server // old servers
	CatalogOnly []Server // new values of servers that keep their connections, including those that only moved in the file
	Transport   []Server // new values of servers that must reconnect
	Listen      bool     // listen changed, which takes effect after a restart
	Settings    []string // other top-level keys that changed, such as `limits`, in the order of Config
}

// Empty reports whether there are no differences.
func (c Changes) Empty() bool {
	return len(c.Added)+len(c.Removed)+len(c.CatalogOnly)+len(c.Transport)+len(c.Settings) == 0 && !c.Listen
}

// Diff compares the current config with a new one. The tag "change" of the fields that changed selects the list for a
// server. A server whose Fault changed is in Transport.
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

// differ reports whether a and b differ in a field that affects connections or, if connection is false, in a field that
// does not.
func differ(a, b Server, connection bool) bool {
	if connection && (a.Embedded != b.Embedded || a.MemberOf != b.MemberOf) {
		return true
	}
	if !connection && a.HopReplicas != b.HopReplicas {
		return true
	}
	va, vb := reflect.ValueOf(a), reflect.ValueOf(b)
	return slices.ContainsFunc(fieldsOf(va.Type()), func(f field) bool {
		return f.connection == connection && !same(va.FieldByIndex(f.index), vb.FieldByIndex(f.index))
	})
}

// settings returns the top-level keys that differ, except those with a separate field in Changes.
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

// same reports whether two values are equal. A missing list or mapping equals an empty one.
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

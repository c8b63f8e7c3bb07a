package desktop

import (
	"errors"
	"maps"
	"reflect"
	"slices"
)

// ErrSame is returned by Install if the file would not change.
var ErrSame = errors.New("nothing to change")

// Ours is the entry for this gateway: a command, or the address of a running gateway.
type Ours struct {
	Command string
	Args    []string
	URL     string // instead of Command, if the client supports it
}

// entry returns o in the format of the client's file.
func (c Client) entry(o Ours) object {
	var e object
	switch {
	case o.URL != "" && c.typed:
		e = object{{"type", "http"}, {c.url, o.URL}}
	case o.URL != "":
		e = object{{c.url, o.URL}}
	case c.typed:
		e = object{{"type", "stdio"}, {"command", o.Command}, {"args", o.Args}}
	default:
		e = object{{"command", o.Command}, {"args", o.Args}}
	}
	return e
}

// othersThan returns the keys that an entry must not have next to those of o.
func othersThan(o Ours) []string {
	if o.URL != "" {
		return []string{"command", "args", "cwd", "envFile"}
	}
	return []string{"url", "serverUrl", "headers"}
}

// Install returns text, the client's file, with the gateway's entry under name. An existing entry keeps its other keys,
// such as env, except those of othersThan. Install returns ErrSame if nothing changes. Other errors are *SyntaxError or
// wrap ErrByHand.
func (c Client) Install(text, name string, o Ours) (string, error) {
	text = orEmpty(text)
	path := []string{c.key, name}
	now, err := c.existing(text, name)
	if err != nil {
		return "", err
	}
	fields := append(c.entry(o), carried(now, o)...)
	want := map[string]any{}
	for key, value := range now {
		want[key] = value
	}
	for _, key := range othersThan(o) {
		delete(want, key)
	}
	for _, f := range fields {
		want[f.name] = plain(f.value)
	}
	if now != nil && reflect.DeepEqual(now, want) {
		return "", ErrSame
	}
	edited := text
	if now == nil {
		if edited, err = set(edited, path, c.entry(o)); err != nil {
			return "", err
		}
		return edited, verify(text, edited, path, want)
	}
	for _, f := range fields {
		if reflect.DeepEqual(now[f.name], plain(f.value)) {
			continue
		}
		if edited, err = set(edited, append(path[:2:2], f.name), f.value); err != nil {
			return "", err
		}
	}
	for _, key := range othersThan(o) {
		if edited, err = drop(edited, append(path[:2:2], key)); err != nil {
			return "", err
		}
	}
	return edited, verify(text, edited, path, want)
}

// Remove returns text, the client's file, without the entry called name. dir is Found.Dir. Errors are *SyntaxError or
// wrap ErrByHand.
func (c Client) Remove(text, name, dir string) (string, error) {
	path := []string{c.key, name}
	if dir != "" {
		path = []string{"projects", dir, c.key, name}
	}
	edited, err := drop(text, path)
	if err != nil {
		return "", err
	}
	return edited, verifyGone(text, edited, path)
}

// carried returns env for an entry whose command is an object with env, as in older files of Zed. Install replaces
// that object by a string, so env must move next to it.
func carried(now map[string]any, o Ours) object {
	command, _ := now["command"].(map[string]any)
	variables, _ := command["env"].(map[string]any)
	if _, beside := now["env"]; beside || o.URL != "" || len(variables) == 0 {
		return nil
	}
	env := object{}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		env = append(env, field{name, variables[name]})
	}
	return object{{"env", env}}
}

// existing returns the entry called name, or nil.
func (c Client) existing(text, name string) (map[string]any, error) {
	at, err := parse(text)
	if err != nil {
		return nil, err
	}
	for _, key := range []string{c.key, name} {
		found, err := member(at, key)
		if err != nil || found == nil {
			return nil, err
		}
		if found.Value.Value.Kind() == 'n' {
			return nil, nil
		}
		at = found.Value
	}
	var entry map[string]any
	if err := decode(at, &entry); err != nil {
		return nil, ErrByHand
	}
	return entry, nil
}

// plain converts a value to the types that decode returns.
func plain(value any) any {
	if fields, ok := value.(object); ok {
		m := map[string]any{}
		for _, f := range fields {
			m[f.name] = plain(f.value)
		}
		return m
	}
	list, ok := value.([]string)
	if !ok {
		return value
	}
	items := make([]any, len(list))
	for i, s := range list {
		items[i] = s
	}
	return items
}

// Snippet returns the content of a new file, for users who edit theirs by hand.
func (c Client) Snippet(name string, o Ours) string {
	return layout{"  ", "\n"}.render(object{{c.key, object{{name, c.entry(o)}}}}, "", true) + "\n"
}

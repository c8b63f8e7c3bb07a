package form

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"goblin-actor/internal/visible"
)

// Verb is what a Use does. Its value is the name of the command.
type Verb string

// The verbs.
const (
	Call   Verb = "call"   // call a tool
	Prompt Verb = "prompt" // get a prompt
	Read   Verb = "read"   // read a resource
)

// unwritable are the characters that no word of a command line may contain, besides those that visible escapes.
const unwritable = "\n\t\x00"

// Use is the use of one item.
type Use struct {
	Verb      Verb
	Name      string          // public name of the tool or prompt, or URI of the resource
	Arguments json.RawMessage // an object; nil = none
	Schema    Schema          // of the arguments; the command converts key=value with it
	Unknown   []string        // names of arguments whose values are not known; their value is written as …
}

// unknown is the value of an argument that is not known.
const unknown = "…"

// CommandLine returns the command for a POSIX shell that performs the use. Arguments are written as key=value if the
// command converts these to the same values, and as --json otherwise. The text has no hidden characters. CommandLine
// returns "" if there is no such command: the name has characters that a command line cannot contain, or the arguments of
// a prompt cannot be written as key=value (a prompt has no --json).
func (u Use) CommandLine() string {
	if visible.Contains(u.Name) || strings.ContainsAny(u.Name, unwritable) {
		return ""
	}
	pairs, ok := u.pairs()
	for _, name := range u.Unknown {
		pairs = append(pairs, name+"="+unknown)
		ok = ok && writable(name, unknown)
	}
	words := append([]string{u.Name}, pairs...)
	var flags []string
	switch {
	case ok:
	case u.Verb == Call:
		words, flags = words[:1], []string{"--json", visible.JSON(compact(u.arguments()))}
	default:
		return ""
	}
	if slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") }) {
		words = slices.Concat(flags, []string{"--"}, words) // the words after "--" are not flags
	} else {
		words = append(words, flags...)
	}
	words = append([]string{"goblin-actor", string(u.Verb)}, words...)
	for i, w := range words {
		words[i] = Quote(w)
	}
	return strings.Join(words, " ")
}

// pairs returns the arguments as key=value. ok is false if they cannot be written that way.
func (u Use) pairs() (words []string, ok bool) {
	if len(u.Arguments) == 0 || u.Verb == Read {
		return nil, true
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(u.Arguments, &object) != nil {
		return nil, false
	}
	var pairs []Pair
	for _, key := range slices.Sorted(maps.Keys(object)) {
		value := string(object[key])
		var text string
		if json.Unmarshal(object[key], &text) == nil && value != "null" {
			value = text
		}
		if !writable(key, value) {
			return nil, false
		}
		pairs = append(pairs, Pair{key, value})
		words = append(words, key+"="+value)
	}
	if len(u.Unknown) > 0 {
		return words, true // the command cannot run yet
	}
	read, err := u.Schema.Arguments(u.Name, pairs)
	return words, err == nil && same(read, object)
}

// writable reports whether an argument can be written as key=value.
func writable(key, value string) bool {
	word := key + "=" + value
	return key != "" && !strings.Contains(key, "=") && !strings.ContainsAny(word, unwritable) && !visible.Contains(word)
}

// arguments returns the arguments. Those that are not known have the value "…".
func (u Use) arguments() json.RawMessage {
	if len(u.Unknown) == 0 {
		return u.Arguments
	}
	object := map[string]json.RawMessage{}
	if len(u.Arguments) > 0 && json.Unmarshal(u.Arguments, &object) != nil {
		return u.Arguments
	}
	for _, name := range u.Unknown {
		object[name] = Quoted(unknown)
	}
	raw, err := json.Marshal(object)
	if err != nil {
		return u.Arguments
	}
	return raw
}

// same reports whether raw has the same members as object. Numbers are equal if their digits are.
func same(raw []byte, object map[string]json.RawMessage) bool {
	var other map[string]json.RawMessage
	return json.Unmarshal(raw, &other) == nil && maps.EqualFunc(other, object, func(a, b json.RawMessage) bool {
		return bytes.Equal(normal(a), normal(b))
	})
}

// normal returns raw with sorted keys and without spaces; numbers keep their digits. Invalid JSON is returned unchanged.
func normal(raw []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return raw
	}
	out, err := json.Marshal(v)
	if err != nil {
		return raw
	}
	return out
}

func compact(raw []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// Quote returns a word for a POSIX shell, in single quotes if it needs them.
func Quote(word string) string {
	const bare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-" + unknown
	if word != "" && strings.Trim(word, bare) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

package ask

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/form"
)

// Limits for the part of a schema that describe prints. All arguments are printed; only their members are limited.
const (
	describedDepth   = 3   // levels of arguments and their members
	describedMembers = 300 // members below the first level
	describedOptions = 8   // alternatives of a union
)

// schemaPrinter prints the members of a schema level by level.
type schemaPrinter struct {
	b     *strings.Builder
	whole form.Schema // contains the definitions for references
	left  int         // members below the first level that may still be printed
}

// writeArguments prints a tool's arguments and their members.
func writeArguments(b *strings.Builder, s form.Schema) {
	p := schemaPrinter{b: b, whole: s, left: describedMembers}
	top := p.resolved(s)
	if len(top.Properties) == 0 {
		b.WriteString("no declared arguments\n")
		return
	}
	b.WriteString("arguments:\n")
	p.members(top, 1)
	if p.left < 0 {
		b.WriteString("  … -o json shows the remaining members\n")
	}
}

// members prints the properties of s, required ones first. Each is followed by its own members, down to describedDepth
// levels. Below the first level, printing stops when left is used up.
func (p *schemaPrinter) members(s form.Schema, level int) {
	required := func(name string) bool { return slices.Contains(s.Required, name) }
	names := slices.SortedFunc(maps.Keys(s.Properties), func(x, y string) int {
		if required(x) != required(y) {
			return map[bool]int{true: -1, false: 1}[required(x)]
		}
		return strings.Compare(x, y)
	})
	for _, name := range names {
		if level > 1 {
			if p.left--; p.left < 0 {
				return
			}
		}
		given := s.Properties[name]
		resolved := p.resolved(given)
		about := given.Description
		if about == "" {
			about = resolved.Description
		}
		writeArgument(p.b, level, name, p.kind(given, describedDepth), required(name), about)
		if inner, ok := p.object(resolved, describedDepth); ok && level < describedDepth {
			p.members(inner, level+1)
		}
	}
}

// resolved returns s, or if s is a reference, the schema to which up to describedDepth references lead.
func (p *schemaPrinter) resolved(s form.Schema) form.Schema {
	for range describedDepth {
		target, ok := p.whole.Resolve(s.Ref)
		if !ok {
			return s
		}
		s = target
	}
	return s
}

// object returns the object schema in s: s itself, that of an array's elements, or that of the first alternative that
// has one.
func (p *schemaPrinter) object(s form.Schema, depth int) (form.Schema, bool) {
	s = p.resolved(s)
	if len(s.Properties) > 0 {
		return s, true
	}
	if depth == 0 {
		return s, false
	}
	if items, ok := elementsOf(s); ok {
		if inner, ok := p.object(items, depth-1); ok {
			return inner, true
		}
	}
	for _, option := range alternatives(s) {
		if inner, ok := p.object(option, depth-1); ok {
			return inner, true
		}
	}
	return s, false
}

// kind names the type of s, for example "string", "array of string", "integer or null" or "one of a, b".
func (p *schemaPrinter) kind(s form.Schema, depth int) string {
	s = p.resolved(s)
	if len(s.Enum) > 0 {
		return "one of " + form.EnumText(s.Enum)
	}
	var kinds []string
	for _, t := range s.Type {
		if items, ok := elementsOf(s); ok && t == "array" && depth > 0 {
			if of := p.kind(items, depth-1); of != "any" {
				t = "array of " + of
			}
		}
		kinds = append(kinds, t)
	}
	if len(kinds) == 0 && len(s.Properties) > 0 {
		kinds = []string{"object"}
	}
	for _, option := range alternatives(s) {
		if depth == 0 || len(s.Type) > 0 {
			break
		}
		if kind := p.kind(option, depth-1); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) == 0 {
		return "any"
	}
	return strings.Join(kinds, " or ")
}

func alternatives(s form.Schema) []form.Schema {
	options := slices.Concat(s.AnyOf, s.OneOf)
	return options[:min(len(options), describedOptions)]
}

// elementsOf returns the schema of an array's elements, if all elements have the same schema.
func elementsOf(s form.Schema) (items form.Schema, ok bool) {
	return items, len(s.Items) > 0 && json.Unmarshal(s.Items, &items) == nil
}

// writeArgument prints one argument or member. level is 1 for an argument.
func writeArgument(b *strings.Builder, level int, name, kind string, required bool, about string) {
	star := ""
	if required {
		star = ", required"
	}
	indent := strings.Repeat("  ", level)
	fmt.Fprintf(b, "%s%s (%s%s)\n", indent, terminal.OneLine(name, 60), terminal.OneLine(kind, 200), star)
	if about != "" {
		for line := range strings.Lines(terminal.Indent(about)) {
			b.WriteString(indent + "  " + line)
		}
	}
}

package meta

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// arguments are those of a call, checked.
type arguments map[string]any

// text is the argument of that name, "" if there is none.
func (a arguments) text(name string) string {
	s, _ := a[name].(string)
	return s
}

// number is the argument of that name.
func (a arguments) number(name string, otherwise int) int {
	if n, ok := a[name].(float64); ok {
		return int(n)
	}
	return otherwise
}

// words are the argument of that name, a list of some.
func (a arguments) words(name string) (list []string) {
	values, _ := a[name].([]any)
	for _, v := range values {
		list = append(list, v.(string)) // as fits has seen
	}
	return list
}

// parseArguments reads the arguments of a call, or says what is wrong with them in words that an agent can act on. It knows what the schemas
// of our own tools use: strings, integers between bounds, lists of some words. null is like no argument, as agents write it so.
func parseArguments(takes *schema, raw []byte) (given arguments, err error) {
	if raw != nil && json.Unmarshal(raw, &given) != nil {
		return nil, errors.New("arguments: want an object") // or a number in it is larger than any
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		property, ok := takes.Properties[name]
		if !ok {
			return nil, fmt.Errorf("%s: there is no such argument; %s", line(name, maxLabel), taken(takes))
		}
		if value := given[name]; value != nil && !property.fits(value) {
			return nil, fmt.Errorf("%s: want %s", name, property.want())
		}
	}
	for _, name := range takes.Required {
		if given[name] == nil {
			property := takes.Properties[name]
			return nil, fmt.Errorf("%s: missing, want %s", name, property.want())
		}
	}
	return given, nil
}

// taken says which arguments there are.
func taken(takes *schema) string {
	if len(takes.Properties) == 0 {
		return "it takes none"
	}
	return "it takes " + strings.Join(slices.Sorted(maps.Keys(takes.Properties)), ", ")
}

// fits reports whether a value is what a property says.
func (p *property) fits(value any) bool {
	switch p.Type {
	case "string":
		_, ok := value.(string)
		return ok
	case "integer":
		n, ok := value.(float64)
		return ok && n == math.Trunc(n) && n >= float64(p.Minimum) && n <= float64(p.Maximum)
	case "array":
		list, ok := value.([]any)
		return ok && !slices.ContainsFunc(list, func(v any) bool {
			word, ok := v.(string)
			return !ok || !slices.Contains(p.Items.Enum, word)
		})
	}
	return true
}

// want says what a property has to be.
func (p *property) want() string {
	switch p.Type {
	case "integer":
		return fmt.Sprintf("a whole number from %d to %d", p.Minimum, p.Maximum)
	case "array":
		return "a list of any of " + strings.Join(p.Items.Enum, ", ")
	}
	return "a string"
}

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

// arguments holds the validated arguments of a call.
type arguments map[string]any

// text returns the string argument with that name, or "" if it is absent.
func (a arguments) text(name string) string {
	s, _ := a[name].(string)
	return s
}

// number returns the integer argument with that name, or the value given as otherwise if the argument is absent.
func (a arguments) number(name string, otherwise int) int {
	if n, ok := a[name].(float64); ok {
		return int(n)
	}
	return otherwise
}

// words returns the list of strings given for an argument.
func (a arguments) words(name string) (list []string) {
	values, _ := a[name].([]any)
	for _, v := range values {
		list = append(list, v.(string)) // checked by fits
	}
	return list
}

// parseArguments parses and validates the arguments of a call. Its errors are written for agents. It supports only
// what the schemas of this package use: strings, bounded integers and lists of enumerated strings. null counts as
// absent, because agents send it that way.
func parseArguments(takes *schema, raw []byte) (given arguments, err error) {
	if raw != nil && json.Unmarshal(raw, &given) != nil {
		return nil, errors.New("arguments: expected an object with numbers in the range of a 64-bit float")
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		property, ok := takes.Properties[name]
		if !ok {
			return nil, fmt.Errorf("%s: unknown argument; %s", line(name, maxLabel), acceptedArguments(takes))
		}
		if value := given[name]; value != nil && !property.fits(value) {
			return nil, fmt.Errorf("%s: expected %s", name, property.expected())
		}
	}
	for _, name := range takes.Required {
		if given[name] == nil {
			property := takes.Properties[name]
			return nil, fmt.Errorf("%s: missing, expected %s", name, property.expected())
		}
	}
	return given, nil
}

// acceptedArguments lists the arguments of a tool for an error message.
func acceptedArguments(takes *schema) string {
	if len(takes.Properties) == 0 {
		return "this tool takes no arguments"
	}
	return "this tool takes " + strings.Join(slices.Sorted(maps.Keys(takes.Properties)), ", ")
}

// fits reports whether a value matches the property's schema.
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

// expected describes the values that the property accepts.
func (p *property) expected() string {
	switch p.Type {
	case "integer":
		return fmt.Sprintf("an integer from %d to %d", p.Minimum, p.Maximum)
	case "array":
		return "an array of any of " + strings.Join(p.Items.Enum, ", ")
	}
	return "a string"
}

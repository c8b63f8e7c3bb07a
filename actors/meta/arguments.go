package meta

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// checkArguments says what is wrong with the arguments of a call, in words that an agent can act on; nil = nothing. It knows what the schemas
// of our own tools use: strings, integers between bounds, lists of some words. null is like no argument, as agents write it so.
func checkArguments(schema *mcp.ToolInputSchema, request mcp.CallToolRequest) error {
	arguments := request.GetArguments()
	if arguments == nil && request.Params.Arguments != nil {
		return errors.New("arguments: want an object")
	}
	for _, name := range slices.Sorted(maps.Keys(arguments)) {
		property, ok := schema.Properties[name].(map[string]any)
		if !ok {
			return fmt.Errorf("%s: there is no such argument; %s", line(name, maxLabel), taken(schema))
		}
		if value := arguments[name]; value != nil && !fits(property, value) {
			return fmt.Errorf("%s: want %s", name, want(property))
		}
	}
	for _, name := range schema.Required {
		if arguments[name] == nil {
			return fmt.Errorf("%s: missing, want %s", name, want(schema.Properties[name].(map[string]any)))
		}
	}
	return nil
}

// taken says which arguments there are.
func taken(schema *mcp.ToolInputSchema) string {
	if len(schema.Properties) == 0 {
		return "it takes none"
	}
	return "it takes " + strings.Join(slices.Sorted(maps.Keys(schema.Properties)), ", ")
}

// fits reports whether a value is what a property says.
func fits(property map[string]any, value any) bool {
	switch property["type"] {
	case "string":
		_, ok := value.(string)
		return ok
	case "integer":
		n, ok := value.(float64)
		least, most := bounds(property)
		return ok && n == math.Trunc(n) && n >= least && n <= most
	case "array":
		list, ok := value.([]any)
		return ok && !slices.ContainsFunc(list, func(v any) bool {
			word, ok := v.(string)
			return !ok || !slices.Contains(wordsOf(property), word)
		})
	}
	return true
}

// want says what a property has to be.
func want(property map[string]any) string {
	switch property["type"] {
	case "integer":
		least, most := bounds(property)
		return fmt.Sprintf("a whole number from %.0f to %.0f", least, most)
	case "array":
		return "a list of any of " + strings.Join(wordsOf(property), ", ")
	}
	return "a string"
}

func bounds(property map[string]any) (least, most float64) {
	low, _ := property["minimum"].(int)
	high, _ := property["maximum"].(int)
	return float64(low), float64(high)
}

// wordsOf are those that a list may hold.
func wordsOf(property map[string]any) []string {
	items, _ := property["items"].(map[string]any)
	list, _ := items["enum"].([]string)
	return list
}

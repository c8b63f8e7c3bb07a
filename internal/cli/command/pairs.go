package command

import (
	"slices"
	"strings"

	"goblin-actor/internal/secret"
)

// Pair is one key=value argument.
type Pair struct{ Key, Value string }

// ParsePairs parses key=value arguments. Each key may occur once.
func ParsePairs(words []string) ([]Pair, error) {
	var pairs []Pair
	for _, w := range words {
		key, value, ok := strings.Cut(w, "=")
		if !ok || key == "" {
			return nil, UsageError(`write it as key=value, such as title=Errands; quote values with spaces: text="buy a lantern"`, "argument %q: expected key=value", secret.Argument(w))
		}
		if slices.ContainsFunc(pairs, func(p Pair) bool { return p.Key == key }) {
			return nil, UsageError(`pass several values as a JSON array: `+key+`='["a","b"]'`, "argument %q is given twice", key)
		}
		pairs = append(pairs, Pair{key, value})
	}
	return pairs, nil
}

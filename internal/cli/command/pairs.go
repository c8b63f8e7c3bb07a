package command

import (
	"slices"
	"strings"

	"goblin-actor/internal/secret"
)

// Pair is one key=value of the command line.
type Pair struct{ Key, Value string }

// ParsePairs takes the words after a tool's name apart; a key may be given once.
func ParsePairs(words []string) ([]Pair, error) {
	var pairs []Pair
	for _, w := range words {
		key, value, ok := strings.Cut(w, "=")
		if !ok || key == "" {
			return nil, UsageError(`like title=Errands, with quotes where there are blanks: text="buy a lantern"`, "argument %q: want key=value", secret.Argument(w))
		}
		if slices.ContainsFunc(pairs, func(p Pair) bool { return p.Key == key }) {
			return nil, UsageError(`give several values as a JSON array: `+key+`='["a","b"]'`, "argument %q is given twice", key)
		}
		pairs = append(pairs, Pair{key, value})
	}
	return pairs, nil
}

package secret

import (
	"strings"

	"goblin-actor/internal/pattern"
)

// Hidden replaces hidden text.
const Hidden = "[redacted]"

// names is part of a regular expression that matches names of secrets: flags, headers, variables and keys.
const names = `(?:key|token|secret|passw|passphrase|pwd|credential|oauth|auth\b|auth[_0-9]|authoriz|authentic|signature|bearer|cookie|jwt)`

var (
	// secretName matches the name of a secret. header matches a flag for HTTP headers, and env a flag for variables.
	secretName = pattern.Lazy(`(?i)` + names + `|(?:^|[^a-z])(?:sig|code|pat|pass|pw)$`)
	header     = pattern.Lazy(`(?i)^(?:-H|--?[a-z-]*headers?)$`)
	env        = pattern.Lazy(`^(?:-e|--env)$`)

	// scheme matches the scheme before a token in an Authorization header, or nothing but spaces.
	scheme = pattern.Lazy(`(?i)^\s*(?:bearer|basic|token|digest)?\s*$`)
)

// Value returns s with everything hidden except references, the scheme of an Authorization header before a reference,
// and quotes around s.
func Value(s string) string {
	var m mask
	return m.bare(hideValue(m.variables(s)))
}

// Pair returns value with secrets hidden. If name suggests a secret, it hides all of value.
func Pair(name, value string) string {
	if secretName().MatchString(name) {
		return Value(value)
	}
	return Text(value)
}

// Arguments returns the words of a command line with secrets hidden.
func Arguments(words []string) []string {
	shown := make([]string, len(words))
	before, named := "", false // named: the previous word was the name of a header, so this one is its value
	for i, word := range words {
		isName := false
		switch {
		case named:
			shown[i] = Value(word)
		case before == "" || strings.HasPrefix(word, "-") && len(word) < 40:
			shown[i] = Argument(word)
		case header().MatchString(before):
			shown[i], isName = headerWord(word)
		case env().MatchString(before):
			name, value, _ := strings.Cut(word, "=")
			shown[i] = name
			if value != "" {
				shown[i] += "=" + Value(value)
			}
		case secretName().MatchString(before):
			shown[i] = Value(word)
		case before == "-u" || before == "--user":
			user, _, isPair := strings.Cut(word, ":")
			shown[i] = Argument(word)
			if isPair {
				shown[i] = user + ":" + Hidden
			}
		default:
			shown[i] = Argument(word)
		}
		named, before = isName, ""
		if strings.HasPrefix(word, "-") && !strings.Contains(word, "=") && len(word) < 40 {
			before = word
		}
	}
	return shown
}

// headerWord processes the word after a flag for headers: "Name: value", or a name whose value is the next word.
func headerWord(word string) (shown string, isName bool) {
	if hidden, ok := inJSON(word, true); ok {
		return hidden, false
	}
	if at := strings.IndexAny(word, ":="); at > 0 {
		value := strings.TrimLeft(word[at+1:], " ")
		return word[:len(word)-len(value)] + Value(value), false
	}
	if secretName().MatchString(word) && len(word) < 40 && Text(word) == word {
		return word, true
	}
	return Value(word), true
}

// Argument returns one word of a command line with secrets hidden, without regard to the previous word: "--token=abc",
// a URL, JSON, a script.
func Argument(word string) string {
	if hidden, ok := inJSON(word, false); ok {
		return hidden
	}
	return Text(word)
}

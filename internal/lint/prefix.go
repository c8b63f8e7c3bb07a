package lint

import "strings"

// Named is a tool with its own and its public name.
type Named struct{ Own, Public string }

// DoubledPrefix returns an example of a public name that repeats its prefix, such as git_git_log or fetch_fetch, if
// most of a server's tools have such names, and "" otherwise.
func DoubledPrefix(tools []Named) (example string) {
	n := 0
	for _, t := range tools {
		if isDoubled(t) {
			n++
			if example == "" {
				example = t.Public
			}
		}
	}
	if 2*n <= len(tools) {
		return ""
	}
	return example
}

// isDoubled reports whether the public name repeats its prefix.
func isDoubled(t Named) bool {
	before, ok := strings.CutSuffix(t.Public, t.Own)
	before = strings.TrimRight(before, "_-")
	if !ok || before == "" || len(t.Own) < len(before) || !strings.EqualFold(t.Own[:len(before)], before) {
		return false
	}
	rest := t.Own[len(before):]
	return rest == "" || strings.ContainsRune("_-./", rune(rest[0]))
}

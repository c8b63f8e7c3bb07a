package lint

import "strings"

// Named is a tool with its server's name for it and the public name that was asked for.
type Named struct{ Own, Public string }

// DoubledPrefix returns one of the public names that say their prefix twice, such as git_git_log or fetch_fetch, if most of a server's tools
// have such names; else "".
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

func isDoubled(t Named) bool {
	before, ok := strings.CutSuffix(t.Public, t.Own)
	before = strings.TrimRight(before, "_-")
	if !ok || before == "" || len(t.Own) < len(before) || !strings.EqualFold(t.Own[:len(before)], before) {
		return false
	}
	rest := t.Own[len(before):]
	return rest == "" || strings.ContainsRune("_-./", rune(rest[0]))
}

package catalog

import (
	"strings"
	"unicode/utf8"

	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// filterOf returns the server's filter for items of a kind; templates are filtered like resources, by their text.
func filterOf(s *Server, kind protocol.ItemKind) *config.Filter {
	switch kind {
	case protocol.Tools:
		return &s.Rules.Tools
	case protocol.Prompts:
		return &s.Rules.Prompts
	default:
		return &s.Rules.ResourceFilter
	}
}

// blocked reports whether deny or disabled name it.
func blocked(f *config.Filter, own string) bool {
	return anyGlob(f.Deny, own) || anyGlob(f.Disabled, own)
}

// hides reports whether the filter keeps the item with this own name from clients.
func hides(f *config.Filter, own string) bool {
	return blocked(f, own) || len(f.Allow) > 0 && !anyGlob(f.Allow, own)
}

// renames reports whether the server's rules give any item another name.
func renames(s *Server) bool {
	return len(s.Rules.Tools.Rename)+len(s.Rules.Prompts.Rename)+len(s.Rules.ResourceFilter.Rename) > 0
}

func anyGlob(patterns []string, s string) bool {
	for _, p := range patterns {
		if glob(p, s) {
			return true
		}
	}
	return false
}

// glob reports whether s as a whole matches pattern: * is any run of characters (slashes too), ? is one character.
// It takes at most len(pattern)*len(s) steps: only the last * is ever taken back.
func glob(pattern, s string) bool {
	if !strings.ContainsAny(pattern, "*?") {
		return pattern == s
	}
	p, i, star, mark := 0, 0, -1, 0
	for i < len(s) {
		_, width := utf8.DecodeRuneInString(s[i:])
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case p < len(pattern) && pattern[p] == '?':
			p, i = p+1, i+width
		case p < len(pattern) && pattern[p] == s[i]:
			p, i = p+1, i+1
		case star >= 0:
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

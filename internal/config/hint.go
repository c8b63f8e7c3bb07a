package config

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"goblin-actor/internal/secret"
)

const slashHint = "a comment begins with #"

// otherNames are keys of other programs' files that mean one of ours.
var otherNames = map[string]string{
	"serverUrl": "url", "httpUrl": "url", "endpoint": "url", "uri": "url",
	"workingDirectory": "cwd", "workdir": "cwd", "environment": "env", "cmd": "command", "arguments": "args",
	"transport": "type", "transportType": "type", "enabled": "disabled", "servers": "mcpServers",
	"disabledTools": "tools: {disabled: […]}", "includeTools": "tools: {allow: […]}", "excludeTools": "tools: {deny: […]}",
	"requestInit": "headers", "env_file": "envFile", "address": "listen", "port": "listen",
}

// unknownKeyHint says what may have been meant by key where only known are allowed.
func unknownKeyHint(key string, known []string) string {
	if strings.HasPrefix(key, "//") || strings.HasPrefix(key, "/*") {
		return slashHint + "; // and /* are read as text"
	}
	if near := Nearest(key, known); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	if ours := otherNames[key]; ours != "" {
		name, _, _ := strings.Cut(ours, ":")
		if slices.Contains(known, name) {
			return fmt.Sprintf("here it is called %s", ours)
		}
	}
	return "known here: " + strings.Join(known, ", ")
}

// strayServer is the hint for a key at the root that is a server, or part of one; "" when it is neither.
func strayServer(m member) string {
	switch {
	case slices.Contains([]string{"command", "args", "env", "url", "serverUrl", "headers"}, m.key):
		return "it belongs to a server: mcpServers: {NAME: {" + m.key + ": …}}"
	case m.value.member("command") != nil || m.value.member("url") != nil || m.value.member("serverUrl") != nil:
		return "a server stands under mcpServers: mcpServers: {" + clip(m.key) + ": …}"
	}
	return ""
}

// Nearest returns the candidate that word is most likely a misspelling of; "" when none is near.
func Nearest(word string, candidates []string) string {
	best, least := "", 1+min(3, max(1, utf8.RuneCountInString(word)/3))
	for _, c := range candidates {
		if strings.EqualFold(plainKey(c), plainKey(word)) {
			return c
		}
		if d := distance(word, c, least); d < least {
			best, least = c, d
		}
	}
	return best
}

// plainKey drops what people write differently: max_sessions, max-sessions.
func plainKey(s string) string { return strings.NewReplacer("_", "", "-", "").Replace(s) }

// distance is the number of letters to insert, delete, replace or swap with their neighbour to make b of a
// (optimal string alignment), or limit when it is not below that.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	s, t := []rune(a), []rune(b)
	before, last, row := make([]int, len(t)+1), make([]int, len(t)+1), make([]int, len(t)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(s); i++ {
		row[0] = i
		for j := 1; j <= len(t); j++ {
			cost := 1
			if s[i-1] == t[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return min(last[len(t)], limit)
}

// syntaxHint guesses what was meant where the parser gave up.
func syntaxHint(data []byte, line, column int) string {
	lines := bytes.Split(data, []byte("\n"))
	if line < 1 || line > len(lines) {
		return ""
	}
	// The parser gives up at the comment itself, or at the end of the entry behind it.
	for _, l := range lines[max(0, line-3):line] {
		if hasSlashComment(withoutQuoted(string(l))) {
			return slashHint + "; // is read as text"
		}
	}
	here := []rune(string(lines[line-1]))
	at := column - 1
	switch {
	case at > 0 && at < len(here) && here[at-1] == '$' && here[at] == '{':
		return `inside of { } and [ ] write "${…}" in double quotes: braces have a meaning there`
	case at >= 0 && at < len(here) && strings.ContainsRune("@`%", here[at]):
		return "put the value in double quotes"
	case len(here) > 0 && strings.HasPrefix(strings.TrimLeft(string(here), " "), "\t"):
		return "indent with blanks; YAML takes no tabs for that"
	case beginsJSON(string(data)):
		return "a comma, a quote or a bracket is missing there or before"
	case strings.Count(withoutQuoted(string(here)), ": ") > 1:
		return "put a value that holds a colon and a blank in double quotes"
	}
	return ""
}

// hasSlashComment tells whether s, a text without quotes, holds what looks like a // comment.
func hasSlashComment(s string) bool {
	return strings.HasPrefix(strings.TrimLeft(s, " \t"), "//") || strings.Contains(s, " //") || strings.Contains(s, "\t//")
}

// withoutQuoted drops what stands in double quotes.
func withoutQuoted(line string) string {
	var b strings.Builder
	for i, part := range strings.Split(strings.ReplaceAll(line, `\"`, ""), `"`) {
		if i%2 == 0 {
			b.WriteString(part)
		}
	}
	return b.String()
}

// shown is a value for a message: without what may be secret, and not too long.
func shown(s string) string { return clip(secret.Text(s)) }

// clip shortens foreign text for a message.
func clip(s string) string {
	const most = 60
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}

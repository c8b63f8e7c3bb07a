package config

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"goblin-actor/internal/secret"
)

const slashHint = "comments start with #"

// otherNames maps keys of other programs to the corresponding key, for hints.
var otherNames = map[string]string{
	"serverUrl": "url", "httpUrl": "url", "endpoint": "url", "uri": "url",
	"workingDirectory": "cwd", "workdir": "cwd", "environment": "env", "cmd": "command", "arguments": "args",
	"transport": "type", "transportType": "type", "enabled": "disabled", "servers": "mcpServers",
	"disabledTools": "tools: {disabled: […]}", "includeTools": "tools: {allow: […]}", "excludeTools": "tools: {deny: […]}",
	"requestInit": "headers", "env_file": "envFile", "address": "listen", "port": "listen",
}

// unknownKeyHint suggests what an unknown key may mean. known are the allowed keys.
func unknownKeyHint(key string, known []string) string {
	if strings.HasPrefix(key, "//") || strings.HasPrefix(key, "/*") {
		return slashHint + "; // and /* are text here"
	}
	if near := Nearest(key, known); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	if ours := otherNames[key]; ours != "" {
		name, _, _ := strings.Cut(ours, ":")
		if slices.Contains(known, name) {
			return fmt.Sprintf("use %s", ours)
		}
	}
	return "known keys: " + strings.Join(known, ", ")
}

// strayServer returns a hint for a root key that is a server or belongs to one, or "".
func strayServer(m member) string {
	switch {
	case slices.Contains([]string{"command", "args", "env", "url", "serverUrl", "headers"}, m.key):
		return "move it into the entry of a server: mcpServers: {NAME: {" + m.key + ": …}}"
	case m.value.member("command") != nil || m.value.member("url") != nil || m.value.member("serverUrl") != nil:
		return "move the server under mcpServers: mcpServers: {" + clip(m.key) + ": …}"
	}
	return ""
}

// Nearest returns the candidate that word most likely misspells, or "" if none is similar.
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

// plainKey removes separators, so that max_sessions and max-sessions match maxSessions.
func plainKey(s string) string { return strings.NewReplacer("_", "", "-", "").Replace(s) }

// distance returns the optimal string alignment distance of a and b: the number of letters to insert, delete, replace or swap with a
// neighbor. It returns limit if the distance is not smaller.
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

// syntaxHint returns a hint for the likely cause of a syntax error, or "".
func syntaxHint(data []byte, line, column int) string {
	lines := bytes.Split(data, []byte("\n"))
	if line < 1 || line > len(lines) {
		return ""
	}
	// The parser reports the comment itself, or the end of the entry after it.
	for _, l := range lines[max(0, line-3):line] {
		if hasSlashComment(withoutQuoted(string(l))) {
			return slashHint + "; // is text here"
		}
	}
	here := []rune(string(lines[line-1]))
	at := column - 1
	switch {
	case at > 0 && at < len(here) && here[at-1] == '$' && here[at] == '{':
		return `inside { } and [ ], write "${…}" in double quotes`
	case at >= 0 && at < len(here) && strings.ContainsRune("@`%", here[at]):
		return "put the value in double quotes"
	case len(here) > 0 && strings.HasPrefix(strings.TrimLeft(string(here), " "), "\t"):
		return "indent with spaces; YAML does not allow tabs"
	case beginsJSON(string(data)):
		return "add the comma, quote or bracket that is missing here or earlier"
	case strings.Count(withoutQuoted(string(here)), ": ") > 1:
		return "put a value that contains a colon and a space in double quotes"
	}
	return ""
}

// hasSlashComment reports whether unquoted text s contains something like a // comment.
func hasSlashComment(s string) bool {
	return strings.HasPrefix(strings.TrimLeft(s, " \t"), "//") || strings.Contains(s, " //") || strings.Contains(s, "\t//")
}

// withoutQuoted removes double-quoted text from line.
func withoutQuoted(line string) string {
	var b strings.Builder
	for i, part := range strings.Split(strings.ReplaceAll(line, `\"`, ""), `"`) {
		if i%2 == 0 {
			b.WriteString(part)
		}
	}
	return b.String()
}

// shown prepares a value for a message: it hides likely secrets and shortens the value like clip.
func shown(s string) string { return clip(secret.Text(s)) }

// clip shortens text for a message to 60 characters.
func clip(s string) string {
	const most = 60
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}

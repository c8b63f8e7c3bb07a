package secret

import (
	"regexp"
	"strconv"
	"strings"

	"goblin-actor/internal/pattern"
)

const (
	quotedText = `\\*"(?:[^"\\]|\\.)*"?|\\*'[^']*'?`
	namedWord  = `[\w.-]*` + names + `[\w.-]*`
)

var (
	// variable matches a reference, with its default if it has one.
	variable = pattern.Lazy(`\$\{(?:env:)?[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\}|\$\{(?:file|keyring|command):[^}]+\}`)
	// address matches a URL.
	address = pattern.Lazy(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>\\]+`)

	// wholly matches a text that is a single pair, such as a header, whose value may contain anything.
	wholly = pattern.Lazy(`(?is)^(-{0,2}` + namedWord + `\s*[:=]\s*)([^\s"'].*)$`)
	// listed matches a pair in a connection string, where a semicolon ends the value.
	listed = pattern.Lazy(`(?i)(` + namedWord + `\s*=\s*)([^;"']+)`)
	// pair matches a name and its value anywhere in a text, bare or quoted as in JSON, YAML or a shell.
	pair = pattern.Lazy(`(?i)(` + namedWord + `\\*["']?\s*[:=]\s*)(` + quotedText + `|(?:(?:bearer|basic|token|digest)\s+)?[^\s;&"']+)`)
	// flag matches a flag and its value in a script.
	flag = pattern.Lazy(`(?i)(--?[\w-]*` + names + `[\w-]*\s+|(?:^|\s)(?:-H|-u|--user|--headers?)\s+)(` + quotedText + `|[^\s-]\S*)`)
	// bearing matches the scheme Bearer or Basic and the token after it.
	bearing = pattern.Lazy(`(?i)(\b(?:bearer|basic)\s+)([^\s"']{6,})`)

	// issued matches tokens with a known prefix of their issuer.
	issued = pattern.Lazy(`\b(?:(?:sk|rk|pk)[-_][\w-]{6,}|gh[pousr]_\w{10,}|github_pat_\w{10,}|gl(?:pat|rt)-[\w-]{10,}|xox[a-z]-[\w-]{6,}|A[KS]IA\w{12,}|AIza[\w-]{30,}|ya29\.[\w-]{10,}|eyJ[\w-]{8,}(?:\.[\w-]+)*|(?:hf|npm)_[A-Za-z0-9]{20,})`)
	// random matches words that may be random: long ones, and UUIDs. mixed excludes likely names.
	random = pattern.Lazy(`(?:\bsha(?:256|384|512)[:-])?(?:[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[A-Za-z0-9_-]{24,}|[A-Za-z0-9]{20,})=*`)

	// kept matches the placeholder of a reference, and ready any placeholder (see mask).
	kept  = pattern.Lazy("\uE000[0-9]+\uE001")
	ready = pattern.Lazy("[\uE000\uE002][0-9]+[\uE001\uE003]")
)

// Text returns s with secrets hidden anywhere in it.
func Text(s string) string {
	if s == "" {
		return s
	}
	var m mask
	t := m.variables(s)
	if parts := wholly().FindStringSubmatch(t); parts != nil && !strings.HasPrefix(parts[2], "//") {
		return m.bare(parts[1] + hideValue(parts[2]))
	}
	t = address().ReplaceAllStringFunc(t, func(u string) string { return m.put('\uE002', showAddress(u)) })
	expressions := []*regexp.Regexp{pair(), flag(), bearing()}
	if strings.Contains(t, ";") {
		expressions = []*regexp.Regexp{listed(), pair(), flag(), bearing()}
	}
	for _, e := range expressions {
		t = replaceSecond(e, t, hideValue)
	}
	return m.bare(byLook(t, Hidden))
}

// URL returns a URL with user, password, the values in its query and fragment, and tokens in its path hidden. Text that
// is not a URL is returned unchanged.
func URL(s string) string {
	if !strings.Contains(s, "://") {
		return s
	}
	var m mask
	return m.bare(showAddress(m.variables(s)))
}

// replaceSecond replaces the matches of the second group of e.
func replaceSecond(e *regexp.Regexp, s string, with func(string) string) string {
	var b strings.Builder
	last := 0
	for _, at := range e.FindAllStringSubmatchIndex(s, -1) {
		b.WriteString(s[last:at[4]])
		b.WriteString(with(s[at[4]:at[5]]))
		last = at[5]
	}
	return b.String() + s[last:]
}

// byLook hides words that look like tokens.
func byLook(s, hidden string) string {
	s = issued().ReplaceAllString(s, hidden)
	return random().ReplaceAllStringFunc(s, func(word string) string {
		if strings.HasPrefix(word, "sha") && strings.ContainsAny(word[:7], ":-") || !mixed(word) {
			return word // an image digest or a long name
		}
		return hidden
	})
}

// mixed reports whether a word has letters and digits. A word with dashes or underscores must also have letters of both
// cases, or be a UUID: my-server-2025 is a name.
func mixed(word string) bool {
	has := func(from, to rune) bool {
		return strings.ContainsFunc(word, func(r rune) bool { return from <= r && r <= to })
	}
	digit, small, capital := has('0', '9'), has('a', 'z'), has('A', 'Z')
	if strings.ContainsAny(word, "-_") {
		return digit && small && capital || uuid().MatchString(word)
	}
	return digit && (small || capital)
}

var uuid = pattern.Lazy(`^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// mask replaces finished pieces of a text with placeholders, so that other rules do not change them. A placeholder is
// a number between private-use runes, starting with U+E000 for a reference and U+E002 for anything else.
type mask struct{ parts []string }

func (m *mask) put(before rune, piece string) string {
	m.parts = append(m.parts, piece)
	return string(before) + strconv.Itoa(len(m.parts)-1) + string(before+1)
}

// variables replaces the references in s with placeholders, with their defaults hidden.
func (m *mask) variables(s string) string {
	if strings.ContainsAny(s, "\uE000\uE001\uE002\uE003") { // s must not contain placeholders
		return Hidden
	}
	return variable().ReplaceAllStringFunc(s, func(v string) string {
		if line, isCommand := strings.CutPrefix(v, "${command:"); isCommand && line[0] != '-' {
			return m.put('\uE000', "${command:"+strings.Join(Arguments(strings.Fields(strings.TrimSuffix(line, "}"))), " ")+"}")
		}
		if name, _, hasDefault := strings.Cut(v, ":-"); hasDefault {
			v = name + ":-" + Hidden + "}"
		}
		return m.put('\uE000', v)
	})
}

// hideValue hides all of s except references, the scheme of an Authorization header before a reference, and quotes
// around s.
func hideValue(s string) string {
	inner := strings.Trim(s, `"'\`)
	if inner == "" {
		return s
	}
	at := strings.Index(s, inner)
	var b strings.Builder
	b.WriteString(s[:at])
	last := 0
	for _, v := range kept().FindAllStringIndex(inner, -1) {
		b.WriteString(literal(inner[last:v[0]]) + inner[v[0]:v[1]])
		last = v[1]
	}
	b.WriteString(literal(inner[last:]))
	return b.String() + s[at+len(inner):]
}

func literal(s string) string {
	if scheme().MatchString(s) {
		return s
	}
	return Hidden
}

// showAddress implements URL. A password may contain an unescaped slash or question mark.
func showAddress(s string) string {
	before, rest, _ := strings.Cut(s, "://")
	authority := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority = rest[:end]
	}
	at := strings.LastIndexByte(authority, '@')
	if far := strings.LastIndexByte(rest, '@'); at < 0 && far > 0 && rest[far-1] != '/' && strings.Contains(authority, ":") && !strings.HasPrefix(authority, "[") {
		at = far
	}
	user := ""
	if at >= 0 {
		user, rest = hideValue(rest[:at])+"@", rest[at+1:]
	}
	rest, fragment, hasFragment := strings.Cut(rest, "#")
	rest, query, hasQuery := strings.Cut(rest, "?")
	host, path, hasPath := strings.Cut(rest, "/")
	shown := before + "://" + user + host
	if hasPath {
		shown += "/" + byLook(path, Hidden)
	}
	if hasQuery {
		shown += "?" + hideQuery(query)
	}
	if hasFragment {
		shown += "#" + hideQuery(fragment)
	}
	return strings.ReplaceAll(shown, Hidden, "redacted") // brackets are not allowed in most parts of a URL
}

// hideQuery hides the values of a query, and all of a parameter without a value.
func hideQuery(s string) string {
	pairs := strings.Split(s, "&")
	for i, p := range pairs {
		name, value, isPair := strings.Cut(p, "=")
		if isPair {
			pairs[i] = name + "=" + hideValue(value)
		} else {
			pairs[i] = hideValue(p)
		}
	}
	return strings.Join(pairs, "&")
}

// bare replaces the placeholders with their pieces. A piece may contain earlier placeholders.
func (m *mask) bare(s string) string {
	for range 2 { // a reference inside a URL
		s = ready().ReplaceAllStringFunc(s, func(mark string) string {
			runes := []rune(mark)
			n, err := strconv.Atoi(string(runes[1 : len(runes)-1]))
			if err != nil || n >= len(m.parts) {
				return mark
			}
			return m.parts[n]
		})
	}
	return s
}

package secret

import (
	"slices"
	"strings"
	"unicode"
)

// words are words in a name that suggest a secret value: API_KEY, githubToken, X-Api-Key.
var words = []string{"key", "apikey", "token", "secret", "password", "passwd", "passphrase", "pwd", "pat", "credential",
	"credentials", "authorization", "bearer", "cookie", "jwt"}

// plurals are words that suggest a secret in the name of an item, in addition to words.
var plurals = []string{"keys", "apikeys", "tokens", "secrets", "passwords", "passphrases", "cookies", "login", "otp"}

// HasWord reports whether one of the words of a name suggests a secret value.
func HasWord(name string) bool { return hasWord(name, words) }

// Item reports whether the name of a tool, or a URI, suggests that using it reveals secrets: get_secret, file:///home/ada/token.
func Item(name string) bool { return hasWord(name, words) || hasWord(name, plurals) }

func hasWord(name string, of []string) bool {
	var b strings.Builder
	lower := false
	for _, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			r, lower = ' ', false
		case unicode.IsUpper(r) && lower:
			b.WriteByte(' ')
			lower = false
		default:
			lower = unicode.IsLower(r)
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return slices.ContainsFunc(strings.Fields(b.String()), func(word string) bool { return slices.Contains(of, word) })
}

// Limits of payloads. Values that are nested deeper, and texts with more forms, are hidden.
const (
	maxDepth  = 64  // of objects and arrays
	maxNested = 4   // of JSON in strings of JSON
	maxWord   = 256 // bytes at the end of a truncated text in which its last word is looked for
	maxForms  = 32  // of a text, with more and more of its escapes resolved
)

// Payload returns a JSON text of a peer without secrets, on one line: strings and numbers of members whose names suggest secrets are
// hidden, and known secrets are hidden in every string, whatever its escapes. JSON inside strings is treated the same way. If cut is true, the end of
// the text is missing; the result then ends with "…". Text that is not JSON is hidden.
func (r *Redactor) Payload(text []byte, cut bool) string {
	if len(text) == 0 {
		return ""
	}
	n, ok := parsePayload(string(text), cut)
	if !ok {
		return Hidden
	}
	w := payloadWriter{known: r}
	w.node(n, false)
	shown := w.b.String()
	if cut && !strings.HasSuffix(shown, more) {
		shown += more
	}
	return r.Cut(shown) // also what spans several strings
}

// payloadWriter writes a payload without secrets.
type payloadWriter struct {
	known *Redactor
	b     strings.Builder
	depth int // of JSON inside strings
}

// node writes a value. If hidden is true, it hides all strings and numbers in it.
func (w *payloadWriter) node(n *payloadNode, hidden bool) {
	switch n.kind {
	case '{':
		w.object(n, hidden)
	case '[':
		w.b.WriteByte('[')
		for i, kid := range n.kids {
			if i > 0 {
				w.b.WriteString(", ")
			}
			w.node(kid, hidden || i > 0 && hidesNext(n.kids[i-1], kid))
		}
		w.end(n, ']')
	case '"':
		shown := Hidden
		if !hidden {
			shown = w.text(n.text, n.cut)
		}
		w.quote(shown, n.cut)
	case 'n':
		if hidden && n.text != "true" && n.text != "false" && n.text != "null" || w.known.Cut(n.text) != n.text || n.cut && w.known.CutShort(n.text) != n.text {
			w.quote(Hidden, false)
			return
		}
		w.b.WriteString(n.text)
	default:
		w.quote(Hidden, false) // too deep
	}
}

func (w *payloadWriter) object(n *payloadNode, hidden bool) {
	pair := n.namesSecret()
	w.b.WriteByte('{')
	for i, kid := range n.kids {
		if i > 0 {
			w.b.WriteString(", ")
		}
		key := n.keys[i]
		w.quote(w.name(key), false)
		w.b.WriteString(": ")
		w.node(kid, hidden || hidesMember(key, kid) || pair && strings.HasPrefix(strings.ToLower(key), "val"))
	}
	w.end(n, '}')
}

func (w *payloadWriter) end(n *payloadNode, bracket byte) {
	if n.cut {
		if !strings.HasSuffix(w.b.String(), more) {
			w.b.WriteString(more)
		}
		return
	}
	w.b.WriteByte(bracket)
}

// text returns a string without secrets.
func (w *payloadWriter) text(s string, cut bool) string {
	if t := strings.TrimSpace(s); w.depth < maxNested && len(t) > 1 && (t[0] == '{' || t[0] == '[' || t[0] == '"') {
		if n, ok := parsePayload(t, cut); ok {
			inner := payloadWriter{known: w.known, depth: w.depth + 1}
			inner.node(n, false)
			return w.plain(inner.b.String(), cut)
		}
	}
	return byName(w.embedded(w.plain(s, cut), cut))
}

// name returns the name of a member without secrets.
func (w *payloadWriter) name(s string) string { return byLook(byName(w.plain(s, false)), Hidden) }

// plain returns a text with known secrets hidden. It returns Hidden if unescaping it, as a program would that reads
// JSON or URLs, reveals one or yields more than maxForms texts.
func (w *payloadWriter) plain(s string, cut bool) string {
	find := w.known.Cut
	if cut {
		find, s = w.known.CutShort, withoutLastWord(s)
	}
	shown := find(s)
	if !cut {
		s = shown
	}
	forms := []string{s}
	for i := 0; i < len(forms); i++ {
		for _, form := range []string{unescapeJSON(forms[i]), unescapeURL(forms[i])} { // each is shorter
			if slices.Contains(forms, form) {
				continue
			}
			if len(forms) == maxForms || find(form) != form {
				return Hidden
			}
			forms = append(forms, form)
		}
	}
	return shown
}

// withoutLastWord returns a text whose end is missing without its last word, whose end might have shown that it is a secret.
func withoutLastWord(s string) string {
	from := max(0, len(s)-maxWord)
	return strings.ToValidUTF8(s[:from+1+strings.LastIndexAny(s[from:], " \t\r\n")], "")
}

package secret

import (
	"regexp"
	"strings"

	"goblin-actor/internal/pattern"
)

// hole matches the mark of a hidden value: Hidden, which has no brackets in URLs.
var hole = pattern.Lazy(`\[redacted\]|redacted`)

// maxMatch limits the work of finding the secrets of one word, in pieces times bytes.
const maxMatch = 1 << 18

// schemeOf matches the scheme before a token in an Authorization header, which is not secret.
var schemeOf = pattern.Lazy(`(?i)^(?:bearer|basic|token|digest) +`)

// Move replaces every secret in word with the result of with(value, before), where before is the text before the
// secret. shown is the result of a function of this package for word. Everything else is kept. If Move cannot locate
// the secrets, it replaces the whole word, unless the word contains a reference. A secret in the default of a variable
// is not replaced.
func Move(word, shown string, with func(value, before string) string) string {
	if word == shown {
		return word
	}
	pieces := hole().Split(shown, -1)
	if len(pieces)*len(word) > maxMatch {
		return whole(word, with)
	}
	if len(pieces) == 2 && strings.Trim(pieces[0]+pieces[1], `"'\`) == "" && !schemeOf().MatchString(word) { // quotes around a secret are part of it
		return whole(word, with)
	}
	quoted := make([]string, len(pieces))
	for i, piece := range pieces {
		quoted[i] = regexp.QuoteMeta(piece)
	}
	e, err := regexp.Compile("(?s)^" + strings.Join(quoted, "(.+?)") + "$")
	if err != nil { // too long for a regular expression
		return whole(word, with)
	}
	found := e.FindStringSubmatch(word)
	if found == nil || len(pieces) == 1 { // the text was reformatted, like JSON
		return whole(word, with)
	}
	var b strings.Builder
	for i, piece := range pieces {
		b.WriteString(piece)
		switch {
		case i+1 == len(pieces):
		case strings.Contains(found[i+1], "${") || strings.HasSuffix(piece, ":-") && strings.HasPrefix(pieces[i+1], "}"):
			b.WriteString(found[i+1])
		default:
			value := found[i+1]
			if n := len(schemeOf().FindString(value)); n < len(value) {
				b.WriteString(value[:n])
				value = value[n:]
			}
			b.WriteString(with(value, b.String()))
		}
	}
	return b.String()
}

func whole(word string, with func(value, before string) string) string {
	if strings.Contains(word, "${") {
		return word
	}
	return with(word, "")
}

package secret

import (
	"regexp"
	"strings"

	"goblin-actor/internal/pattern"
)

// hole is where a shown text hides something: Hidden, in URLs without its brackets.
var hole = pattern.Lazy(`\[redacted\]|redacted`)

// maxMatch bounds the work of finding the secrets of one word, pieces times bytes.
const maxMatch = 1 << 18

// schemeOf is what stands before a token in an Authorization header; it is no secret.
var schemeOf = pattern.Lazy(`(?i)^(?:bearer|basic|token|digest) +`)

// Move puts with(value, before) in place of every secret in word, where shown is word as a function of this package shows it and
// before is what stands before the secret. All else stays, so that the result means what word means as soon as what with
// returns stands for value. A secret that is the default of a variable is left where it is.
func Move(word, shown string, with func(value, before string) string) string {
	if word == shown {
		return word
	}
	pieces := hole().Split(shown, -1)
	if len(pieces)*len(word) > maxMatch {
		return whole(word, with)
	}
	if len(pieces) == 2 && strings.Trim(pieces[0]+pieces[1], `"'\`) == "" && !schemeOf().MatchString(word) { // quotes around a secret belong to it
		return whole(word, with)
	}
	quoted := make([]string, len(pieces))
	for i, piece := range pieces {
		quoted[i] = regexp.QuoteMeta(piece)
	}
	e, err := regexp.Compile("(?s)^" + strings.Join(quoted, "(.+?)") + "$")
	if err != nil { // a text beyond what the library takes
		return whole(word, with)
	}
	found := e.FindStringSubmatch(word)
	if found == nil || len(pieces) == 1 { // it was written anew, as JSON is
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

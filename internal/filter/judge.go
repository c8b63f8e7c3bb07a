package filter

import (
	"slices"
	"strings"

	"goblin-actor/internal/config"
)

// maxJudged is how long a URI may be that clients ask for, where rules stand: it is held against each of them in each spelling.
const maxJudged = 16 << 10

// Judge holds the rules of a server on its resources against URIs. A URI can be spelled in many ways that mean the same
// to its server, so what clients write is judged in all of them: as written, percent-decoded (also more than once), with
// one slash where there are several, without dot segments, scheme and authority in lower case (tidy.go), and, where rules deny,
// case-folded and in NFC (fold.go). nil has no rules.
type Judge struct {
	filter      *config.Filter
	allow, deny []string // in plain spelling, as written and decoded; deny holds what is disabled too
}

// New returns the judge of the rules; nil when they say nothing.
func New(f *config.Filter) *Judge {
	if len(f.Allow)+len(f.Deny)+len(f.Disabled) == 0 {
		return nil
	}
	return &Judge{filter: f, allow: plainPatterns(f.Allow), deny: plainPatterns(f.Deny, f.Disabled)}
}

func plainPatterns(lists ...[]string) (plain []string) {
	for _, pattern := range slices.Concat(lists...) {
		forms, _ := spellings(pattern)
		plain = append(plain, tidyURI(pattern, false))
		plain = append(plain, tidyURI(forms[len(forms)-1], false))
	}
	return plain
}

// Hides reports whether a resource or template that the server lists is kept from clients.
func (j *Judge) Hides(own string) bool {
	if j == nil {
		return false
	}
	if Hides(j.filter, own) {
		return true
	}
	forms, _ := spellings(own)
	return slices.ContainsFunc(forms, j.denies)
}

// Admits reports whether clients may ask for a URI that the server does not list. Which template promises it is given by
// its text, "" = none does. Where rules stand, dot segments and encoded slashes are refused: what they lead to is for the
// server to say.
func (j *Judge) Admits(template, uri string) bool {
	if j == nil {
		return true
	}
	return !j.refuses(uri) && j.allows(template, uri)
}

// refuses is the part of Admits that deny decides.
func (j *Judge) refuses(uri string) bool {
	if len(uri) > maxJudged {
		return true
	}
	forms, odd := spellings(uri)
	return odd || Blocked(j.filter, uri) || slices.ContainsFunc(forms, j.denies)
}

// allows is the part of Admits that allow decides.
func (j *Judge) allows(template, uri string) bool {
	if len(j.filter.Allow) == 0 || namesTemplate(j.filter.Allow, template) {
		return true
	}
	forms, _ := spellings(uri)
	return Any(j.filter.Allow, uri) && !slices.ContainsFunc(forms, func(form string) bool { return !Any(j.allow, tidyURI(form, true)) })
}

// AdmitsAll is Admits for something that has several URIs: none may be refused, and one must be allowed, unless all is that is
// not denied.
func (j *Judge) AdmitsAll(template string, uris []string, allowed bool) bool {
	if j == nil {
		return true
	}
	return !slices.ContainsFunc(uris, j.refuses) && (allowed || slices.ContainsFunc(uris, func(uri string) bool { return j.allows(template, uri) }))
}

// HidesAll is Hides for an item that has several URIs.
func (j *Judge) HidesAll(uris []string, allowed bool) bool {
	if j == nil {
		return false
	}
	if j.Denies(uris) {
		return true
	}
	return !allowed && len(j.filter.Allow) > 0 && !slices.ContainsFunc(uris, func(uri string) bool { return Any(j.filter.Allow, uri) })
}

// Denies reports whether deny or disabled mean one of the URIs, in any spelling.
func (j *Judge) Denies(uris []string) bool {
	return slices.ContainsFunc(uris, func(uri string) bool {
		forms, _ := spellings(uri)
		return Blocked(j.filter, uri) || slices.ContainsFunc(forms, j.denies)
	})
}

// Odd reports whether a URI may mean another one to its server: it holds dot segments, control characters, or an encoded slash or
// backslash.
func Odd(uri string) bool {
	_, odd := spellings(uri)
	return odd
}

// denies reports whether deny or disabled mean a spelling, with its query and fragment or without: many servers look at the path only.
func (j *Judge) denies(form string) bool {
	tidy := tidyURI(form, true)
	if Denies(j.deny, tidy) || Denies(j.deny, strings.TrimSuffix(tidy, "/")) {
		return true
	}
	end := strings.IndexAny(tidy, "?#")
	return end >= 0 && (Denies(j.deny, tidy[:end]) || Denies(j.deny, strings.TrimSuffix(tidy[:end], "/")))
}

// namesTemplate reports whether one of the patterns means the template itself and not what it expands to: it matches the
// text only because of what stands in its braces. Then all that the template promises is allowed.
func namesTemplate(patterns []string, text string) bool {
	if text == "" {
		return false
	}
	return slices.ContainsFunc(patterns, func(p string) bool { return Glob(p, text) && !Glob(p, withoutExpressions(text)) })
}

// withoutExpressions puts a character that nobody writes in the place of every expression of a template.
func withoutExpressions(text string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteByte(0)
		if _, text, found = strings.Cut(after, "}"); !found {
			return b.String()
		}
	}
}

// maxDecodings is how often a URI is percent-decoded before it counts as odd.
const maxDecodings = 4

// spellings returns the URI as it is and as it reads after each percent-decoding. It is odd when it holds dot segments, control
// characters, a slash or backslash that is encoded outside the query, or encodings without end.
func spellings(uri string) (forms []string, odd bool) {
	forms = []string{uri}
	odd = hasDots(uri)
	for range maxDecodings {
		last := forms[len(forms)-1]
		next, slash := decodeURI(last)
		if next == last {
			return forms, odd
		}
		odd = odd || slash || hasDots(next)
		forms = append(forms, next)
	}
	return forms, true
}

// decodeURI decodes what is percent-encoded once; * and ?, which mean something in patterns and in URIs, stay encoded.
func decodeURI(uri string) (decoded string, slash bool) {
	if !strings.Contains(uri, "%") {
		return uri, false
	}
	b := make([]byte, 0, len(uri))
	query := false
	for i := 0; i < len(uri); i++ {
		c := uri[i]
		query = query || c == '?'
		if c != '%' || i+2 >= len(uri) || unhex(uri[i+1]) < 0 || unhex(uri[i+2]) < 0 {
			b = append(b, c)
			continue
		}
		switch c = byte(unhex(uri[i+1])<<4 | unhex(uri[i+2])); c {
		case '*', '?':
			b = append(b, '%', uri[i+1], uri[i+2]&^0x20) // %2A, %3F
		case '/', '\\':
			slash = slash || !query
			b = append(b, c)
		default:
			b = append(b, c)
		}
		i += 2
	}
	return string(b), slash
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// hasDots reports whether . or .. stands between delimiters, of path or query, or a control character anywhere.
func hasDots(uri string) bool {
	run, bare := 0, true // dots since the last delimiter, and nothing else
	for i := range len(uri) {
		switch c := uri[i]; {
		case c < ' ' || c == 0x7f:
			return true
		case strings.IndexByte(`/\?#&=;:`, c) >= 0:
			if bare && (run == 1 || run == 2) {
				return true
			}
			run, bare = 0, true
		case c == '.':
			run++
		default:
			bare = false
		}
	}
	return bare && (run == 1 || run == 2)
}

package filter

import (
	"slices"
	"strings"

	"goblin-actor/internal/config"
)

// maxJudged is the maximum length of a requested URI if there are rules, because each spelling is compared with each rule.
const maxJudged = 16 << 10

// Judge applies a server's resource rules to URIs. A URI has many spellings that mean the same to its server, so it is
// compared in all of them: as written, percent-decoded (repeatedly), with single slashes, without dot segments, with
// scheme and authority in lower case (tidy.go), and, for deny rules, case-folded in NFC (fold.go). A nil Judge has no
// rules.
type Judge struct {
	filter      *config.Filter
	allow, deny []string // normalized patterns, as written and decoded; deny includes disabled
}

// New returns a Judge for the rules of f, or nil if there are none.
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

// Hides reports whether a listed resource or template is hidden from clients.
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

// Admits reports whether clients may request a URI that the server does not list. template is the text of the template
// that matches it, or "". With rules, it refuses a URI that is Odd, because its meaning depends on the server, and one
// that is longer than maxJudged.
func (j *Judge) Admits(template, uri string) bool {
	if j == nil {
		return true
	}
	return !j.refuses(uri) && j.allows(template, uri)
}

// refuses is the part of Admits that does not depend on allow: it checks the length of the URI, its form, and deny.
func (j *Judge) refuses(uri string) bool {
	if len(uri) > maxJudged {
		return true
	}
	forms, odd := spellings(uri)
	return odd || Blocked(j.filter, uri) || slices.ContainsFunc(forms, j.denies)
}

// allows is the part of Admits that depends on allow.
func (j *Judge) allows(template, uri string) bool {
	if len(j.filter.Allow) == 0 || namesTemplate(j.filter.Allow, template) {
		return true
	}
	forms, _ := spellings(uri)
	return Any(j.filter.Allow, uri) && !slices.ContainsFunc(forms, func(form string) bool { return !Any(j.allow, tidyURI(form, true)) })
}

// AdmitsAll is like Admits for an item with several URIs. None of them may be denied. If allowed is false, allow must
// match at least one.
func (j *Judge) AdmitsAll(template string, uris []string, allowed bool) bool {
	if j == nil {
		return true
	}
	return !slices.ContainsFunc(uris, j.refuses) && (allowed || slices.ContainsFunc(uris, func(uri string) bool { return j.allows(template, uri) }))
}

// HidesAll is like Hides for an item with several URIs. If allowed is true, it ignores allow.
func (j *Judge) HidesAll(uris []string, allowed bool) bool {
	if j == nil {
		return false
	}
	if j.Denies(uris) {
		return true
	}
	return !allowed && len(j.filter.Allow) > 0 && !slices.ContainsFunc(uris, func(uri string) bool { return Any(j.filter.Allow, uri) })
}

// Denies reports whether deny or disabled match one of the URIs in any spelling.
func (j *Judge) Denies(uris []string) bool {
	return slices.ContainsFunc(uris, func(uri string) bool {
		forms, _ := spellings(uri)
		return Blocked(j.filter, uri) || slices.ContainsFunc(forms, j.denies)
	})
}

// Odd reports whether a URI may mean another one to its server: it contains dot segments, control characters, an
// encoded slash or backslash outside the query, or too many encodings.
func Odd(uri string) bool {
	_, odd := spellings(uri)
	return odd
}

// denies reports whether deny or disabled match a spelling, with or without query and fragment, because many servers
// only use the path.
func (j *Judge) denies(form string) bool {
	tidy := tidyURI(form, true)
	if Denies(j.deny, tidy) || Denies(j.deny, strings.TrimSuffix(tidy, "/")) {
		return true
	}
	end := strings.IndexAny(tidy, "?#")
	return end >= 0 && (Denies(j.deny, tidy[:end]) || Denies(j.deny, strings.TrimSuffix(tidy[:end], "/")))
}

// namesTemplate reports whether one of the patterns matches the template itself rather than its expansions, that is,
// only because of the text in braces. Such a pattern allows all expansions.
func namesTemplate(patterns []string, text string) bool {
	if text == "" {
		return false
	}
	return slices.ContainsFunc(patterns, func(p string) bool { return Glob(p, text) && !Glob(p, withoutExpressions(text)) })
}

// withoutExpressions replaces every expression of a template with a NUL.
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

// maxDecodings is the maximum number of percent-decodings. A URI that the last of them still changes is odd.
const maxDecodings = 4

// spellings returns the URI as written and after each percent-decoding. odd reports that it contains dot segments,
// control characters, an encoded slash or backslash outside the query, or too many encodings.
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

// decodeURI percent-decodes uri once. * and ? stay encoded, because they have a meaning in patterns and URIs. slash
// reports whether it has decoded a slash or backslash outside the query.
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

// hasDots reports whether uri contains . or .. between delimiters of path or query, or a control character.
func hasDots(uri string) bool {
	run, bare := 0, true // number of dots since the last delimiter; whether there is nothing but dots
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

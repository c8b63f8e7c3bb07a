package meta

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"goblin-actor/actors/catalog"
	"goblin-actor/protocol"
)

const (
	maxQuery     = 4 << 10 // bytes; longer queries are refused
	maxWords     = 32      // words of a query that are searched for, not counting stop words
	defaultFound = 20
)

var errDropped = errors.New("the search index was discarded before the search ended; search again")

// runSearchCatalog finds items of all kinds.
func runSearchCatalog(ctx context.Context, a *access, given arguments) (any, error) {
	kinds, server := given.words("kinds"), given.text("server")
	if err := a.checkServer(server); err != nil {
		return nil, err
	}
	return a.search(ctx, given, func(e *catalog.Entry) bool {
		return ofServer(e, server) && (len(kinds) == 0 || slices.Contains(kinds, kindNames[e.Kind]))
	})
}

// runSearchResources finds listed resources and templates. A resource that only a template describes is not listed,
// so the template is found instead.
func runSearchResources(ctx context.Context, a *access, given arguments) (any, error) {
	mimeType := given.text("mimeType")
	return a.search(ctx, given, func(e *catalog.Entry) bool {
		return (e.Kind == protocol.Resources || e.Kind == protocol.Templates) && (mimeType == "" || hasType(e, mimeType))
	})
}

// search answers a query with cards, the best first. A query has no operators.
func (a *access) search(ctx context.Context, given arguments, admits func(*catalog.Entry) bool) (any, error) {
	query := given.text("query")
	if len(query) > maxQuery {
		return nil, fmt.Errorf("query: %d bytes, at most %d are allowed; use a few words", len(query), maxQuery)
	}
	found, total, err := a.index.find(ctx, a, query, given.number("limit", defaultFound), admits)
	if err != nil {
		return nil, err
	}
	page := cards{Items: []card{}, Total: total}
	for _, e := range found {
		c := cardOf(e)
		c.Kind = kindNames[e.Kind]
		if twin := twinOf(a.view, e); twin != nil && admits(twin) {
			c.Also = kindNames[twin.Kind]
		}
		page.Items = append(page.Items, c)
	}
	return page, nil
}

// words splits a text into lower-case words. A name such as readFile, read_file or ReadFILE yields its parts (read,
// file) and their compound (readfile). All characters other than letters, digits and marks separate words.
func words(text string) string {
	var b strings.Builder
	b.Grow(len(text) + len(text)/4)
	for name := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !isJoiner(r)
	}) {
		if simple(name) { // the common case
			b.WriteByte(name[0] | 0x20)
			b.WriteString(name[1:])
			b.WriteByte(' ')
			continue
		}
		parts := split(name)
		joined := 1 < len(parts) && len(parts) <= maxParts
		for _, part := range parts {
			if joined && len(part) == 1 { // a single letter or digit matches too many names
				continue
			}
			b.WriteString(part)
			b.WriteByte(' ')
		}
		if joined {
			b.WriteString(strings.Join(parts, ""))
			b.WriteByte(' ')
		}
	}
	return strings.TrimSuffix(b.String(), " ")
}

// simple reports whether a name consists of lower-case ASCII letters only. The first letter may be a capital.
func simple(name string) bool {
	if c := name[0] | 0x20; c < 'a' || c > 'z' {
		return false
	}
	for i := 1; i < len(name); i++ {
		if c := name[i]; c < 'a' || c > 'z' {
			return false
		}
	}
	return true
}

// maxParts is the maximum number of parts of a name for which the function words adds the compound. Paths often have more.
const maxParts = 4

// isJoiner reports whether a character connects the parts of one name.
func isJoiner(r rune) bool { return r == '_' || r == '-' }

// split cuts a name into words: at the connecting characters, where a capital follows a lower-case letter, before the
// last of several capitals, and between letters and digits.
func split(name string) (parts []string) {
	runes := []rune(name)
	from := 0
	cut := func(to int) {
		if to > from {
			parts = append(parts, strings.ToLower(string(runes[from:to])))
		}
		from = to
	}
	for i, r := range runes {
		if isJoiner(r) {
			cut(i)
			from = i + 1
			continue
		}
		if i == from || i == 0 {
			continue
		}
		before := runes[i-1]
		switch {
		case unicode.IsUpper(r) && !unicode.IsUpper(before):
			cut(i)
		case unicode.IsUpper(r) && i+1 < len(runes) && unicode.IsLower(runes[i+1]):
			cut(i)
		case unicode.IsDigit(r) != unicode.IsDigit(before):
			cut(i)
		}
	}
	cut(len(runes))
	return parts
}

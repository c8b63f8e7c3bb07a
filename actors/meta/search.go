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
	maxQuery     = 4 << 10 // bytes; a longer one is refused
	maxWords     = 32      // of a query that are looked for, stop words not counted
	defaultFound = 20
)

var errGoing = errors.New("the index is going; search again")

// runSearchCatalog finds items of all kinds.
func runSearchCatalog(ctx context.Context, a *asked, given arguments) (any, error) {
	kinds, server := given.words("kinds"), given.text("server")
	if err := a.knows(server); err != nil {
		return nil, err
	}
	return a.search(ctx, given, func(e *catalog.Entry) bool {
		return of(e, server) && (len(kinds) == 0 || slices.Contains(kinds, kindNames[e.Kind]))
	})
}

// runSearchResources finds resources that are listed; what a template can make is nowhere listed, so the template itself is found.
func runSearchResources(ctx context.Context, a *asked, given arguments) (any, error) {
	mimeType := given.text("mimeType")
	return a.search(ctx, given, func(e *catalog.Entry) bool {
		return (e.Kind == protocol.Resources || e.Kind == protocol.Templates) && (mimeType == "" || hasType(e, mimeType))
	})
}

// search answers a search with cards, the best first. No character of the query is an operator.
func (a *asked) search(ctx context.Context, given arguments, admits func(*catalog.Entry) bool) (any, error) {
	query := given.text("query")
	if len(query) > maxQuery {
		return nil, fmt.Errorf("query: %d bytes, at most %d are searched for; use a few words", len(query), maxQuery)
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

// words splits names: readFile, read_file and ReadFILE2 are read and file (and 2), and the whole of each is a word as well, so that
// readfile finds them too. Whatever is no letter and no digit stands between words.
func words(text string) string {
	var b strings.Builder
	b.Grow(len(text) + len(text)/4)
	for name := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !joins(r)
	}) {
		if simple(name) { // as nearly all words of a text
			b.WriteByte(name[0] | 0x20)
			b.WriteString(name[1:])
			b.WriteByte(' ')
			continue
		}
		parts := split(name)
		joined := 1 < len(parts) && len(parts) <= maxParts
		for _, part := range parts {
			if joined && len(part) == 1 { // half of all names have such a letter or digit
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

// simple reports whether a name is one word in ASCII, of small letters but for the first.
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

// maxParts bounds what is taken for one name: a path is many.
const maxParts = 4

// joins reports whether a character joins the words of one name.
func joins(r rune) bool { return r == '_' || r == '-' }

// split cuts a name into words: at what joins them, where a capital follows a small letter, before the last of several capitals,
// and between letters and digits.
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
		if joins(r) {
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

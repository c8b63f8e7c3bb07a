package meta

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"goblin-actor/actors/catalog"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// Limits of a card. The describe_… tools return longer texts.
const (
	maxLine  = 160       // bytes of a description
	maxLabel = 128       // bytes of a resource's name or of a type
	pageRoom = 128 << 10 // bytes of cards after which a page ends
)

// kindNames are the item kinds as named in cards and in the argument kinds, indexed by protocol.ItemKind.
var kindNames = [protocol.ItemKinds]string{
	protocol.Tools: "tool", protocol.Prompts: "prompt", protocol.Resources: "resource", protocol.Templates: "template",
}

// card is the summary of an item.
type card struct {
	Kind        string `json:"kind,omitempty"` // only in search results
	Also        string `json:"also,omitempty"` // the kind of another item with the same name and server
	Name        string `json:"name,omitempty"`
	URI         string `json:"uri,omitempty"`
	URITemplate string `json:"uriTemplate,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType,omitempty"`
	Size        *int64 `json:"size,omitempty"`
	Server      string `json:"server"`
}

// cards is one page of cards.
type cards struct {
	Items []card `json:"items"`
	Total int    `json:"total"`          // on all pages
	Next  string `json:"next,omitempty"` // value of "after" for the next page; "" on the last page
}

// cardOf returns the card of an item.
func cardOf(e *catalog.Entry) card {
	c := card{Server: e.Server.Name}
	item, err := protocol.ParseItem(e.Raw())
	if err != nil {
		return c // cannot happen: the catalog has parsed it
	}
	text := func(span rawjson.Span) string {
		s, _ := rawjson.Unquote(span.Of(item.Raw)) // "" if absent or not a string
		return s
	}
	c.Description = line(text(item.Description), maxLine)
	switch e.Kind {
	case protocol.Tools, protocol.Prompts:
		c.Name = e.Public
		return c
	case protocol.Resources:
		c.URI = e.Public
		if size, err := strconv.ParseInt(string(item.Size.Of(item.Raw)), 10, 64); err == nil && size >= 0 {
			c.Size = &size
		}
	default:
		c.URITemplate = e.Public
	}
	c.Name, c.MIMEType = line(text(item.Name), maxLabel), line(text(item.MIMEType), maxLabel)
	return c
}

// size estimates the bytes that the card takes on a page.
func (c *card) size() int {
	return len(c.Name) + len(c.URI) + len(c.URITemplate) + len(c.Description) + len(c.MIMEType) + len(c.Server) + 64
}

// line returns the first line of a text, truncated at a character boundary if it has more bytes than the limit.
func line(s string, limit int) string {
	s = strings.TrimSpace(s)
	if end := strings.IndexAny(s, "\r\n"); end >= 0 {
		s = strings.TrimSpace(s[:end])
	}
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return strings.TrimSpace(s[:limit]) + "…"
}

// hasType reports whether an item has the media type want, which may end in /*. Parameters such as charset are ignored.
func hasType(e *catalog.Entry, want string) bool {
	item, err := protocol.ParseItem(e.Raw())
	if err != nil {
		return false
	}
	have, _ := rawjson.Unquote(item.MIMEType.Of(item.Raw))
	have, _, _ = strings.Cut(strings.ToLower(have), ";")
	have, want = strings.TrimSpace(have), strings.ToLower(strings.TrimSpace(want))
	if group, all := strings.CutSuffix(want, "*"); all && strings.HasSuffix(group, "/") {
		return strings.HasPrefix(have, group)
	}
	return have == want
}
